import { it } from 'vitest';
import { HISTORIES, keepInvariants } from './histories.ts';

// oxlint-disable-next-line vitest/expect-expect -- the function has the assertions
it(
  `keeps L1 to L17 in ${HISTORIES} histories with crashes at any index`,
  { timeout: 600_000 },
  keepInvariants,
);
