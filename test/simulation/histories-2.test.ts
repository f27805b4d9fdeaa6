import { it } from 'vitest';
import { HISTORIES, keepInvariants } from './histories.ts';

// oxlint-disable-next-line vitest/expect-expect -- the function has the assertions
it(`keeps L1 to L17 in ${HISTORIES} more histories`, { timeout: 600_000 }, keepInvariants);
