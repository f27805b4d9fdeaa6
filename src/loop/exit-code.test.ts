import { describe, expect, it } from 'vitest';
import { exitCodeText, howItFailed } from './exit-code.ts';
import { failureText } from './failure.ts';

describe('an exit code', () => {
  it('names the signal that it may stand for', () => {
    expect(exitCodeText(137)).toBe('137 (SIGKILL, often out of memory)');
    expect([130, 134, 139, 143].map(exitCodeText)).toEqual([
      '130 (SIGINT)',
      '134 (SIGABRT)',
      '139 (SIGSEGV)',
      '143 (SIGTERM)',
    ]);
    expect([0, 1, 127, 128, 144, 255, null].map(exitCodeText)).toEqual([
      '0',
      '1',
      '127',
      '128',
      '144',
      '255',
      'unknown',
    ]);
  });

  it('does so in the failure of a run', () => {
    expect(failureText({ how: 'exited', code: 137, error: null }, 'failure')).toBe(
      'agent exited with code 137 (SIGKILL, often out of memory)',
    );
  });
});

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
