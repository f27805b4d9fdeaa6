import { expect, it } from 'vitest';
import { howItFailed } from './how-it-failed.ts';

it('a failed check says what its exit code means', () => {
  const failed = (code: number | null): string => howItFailed({ code, timedOut: false });
  expect([1, 127, 137, 143, null].map(failed)).toEqual([
    'exit 1',
    'exit 127: command not found',
    'exit 137: SIGKILL, often out of memory',
    'exit 143: SIGTERM',
    'exit unknown',
  ]);
});
