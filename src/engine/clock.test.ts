import { expect, it, vi } from 'vitest';
import { systemClock } from './clock.ts';

it('keeps running when the system clock is set back, follows it forward, and never starts before the last event', () => {
  let wall = 1_000_000;
  const clock = systemClock(0, () => wall);
  const first = clock.now();
  expect(first).toBe(1_000_000);
  wall -= 3_600_000;
  expect(clock.now()).toBeGreaterThanOrEqual(first);
  expect(clock.now()).toBeLessThan(first + 60_000);
  wall = 9_000_000;
  expect(clock.now()).toBe(9_000_000);
  wall = 5_000_000;
  expect(clock.now()).toBeGreaterThanOrEqual(9_000_000);
  expect(systemClock(20_000_000, () => wall).now()).toBeGreaterThanOrEqual(20_000_000);
});

it('wakes at its moment, and not after it was cancelled', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
  try {
    const clock = systemClock(0);
    const woken: string[] = [];
    clock.at(clock.now() + 100_000, () => void woken.push('late'));
    clock.at(clock.now() - 5, () => void woken.push('past'));
    clock.at(clock.now() + 50, () => void woken.push('cancelled'))();
    await vi.advanceTimersByTimeAsync(99_990);
    expect(woken).toEqual(['past']);
    await vi.advanceTimersByTimeAsync(20);
    expect(woken).toEqual(['past', 'late']);
  } finally {
    vi.useRealTimers();
  }
});

it('notices within half a minute that the machine has slept', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  try {
    let wall = 1_000_000;
    const clock = systemClock(0, () => wall);
    let woken = false;
    clock.at(wall + 8 * 3_600_000, () => {
      woken = true;
    });
    wall += 9 * 3_600_000;
    await vi.advanceTimersByTimeAsync(31_000);
    expect(woken).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});
