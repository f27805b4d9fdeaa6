import { expect, it } from 'vitest';
import { begun, given, iteration, plain, received } from '../../test/rig/given.ts';
import { statusParts } from './status-line.ts';
import { clockTime } from './times.ts';
import { timeLeft, waitingFor, waitText } from './waits.ts';

const HOUR = 3_600_000;
const limited = given(plain, iteration(1), {
  type: 'limit.shared',
  resetsAt: HOUR,
  message: 'you have hit\nyour limit',
  jitter: 0,
});

it('says what a loop waits for in its lines, its status line and its status', () => {
  const until = clockTime(HOUR, 0);
  expect(waitText(limited, 0)).toBe(`waiting for the usage limit to reset (1h 0m left, until ${until})`);
  expect(timeLeft(limited, 0)).toBe(`usage limit: 1h 0m left, until ${until.slice(0, -3)}`);
  expect(waitingFor(limited, 'process', 0)).toBe(`usage limit until ${until} (you have hit your limit)`);
  expect(waitingFor(limited, 'session', 0)).toBe(waitingFor(limited, 'process', 0));
});

it('says nothing about a wait that no process or session would end, and less than a second before its end', () => {
  expect(waitingFor(limited, null, 0)).toBeNull();
  expect([waitText(limited, HOUR - 999), timeLeft(limited, HOUR - 999)]).toEqual([null, null]);
});

it('says first that the loop is about to stop or to pause', () => {
  const stopping = given(plain, ...begun, received('stop', { type: 'stop', now: false, by: 'person' }));
  expect(waitingFor(stopping, 'process', 0)).toBe('running step, then the loop stops');
  const pausing = given(plain, ...begun, received('pause', { type: 'pause' }));
  expect(waitingFor(pausing, 'process', 0)).toBe('running iteration, then the loop pauses');
});

it('puts the wait first in the status line, and else the iteration', () => {
  const at = { now: 5000, activeAt: 2000 };
  expect(statusParts(limited, null, at)[0]).toMatch(/^usage limit: 59m 55s left/);
  expect(statusParts(given(plain, ...begun), null, at)).toEqual([
    expect.stringMatching(/^iteration 1/),
    '5s',
    'last activity 3s ago',
  ]);
});
