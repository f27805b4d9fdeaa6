import { expect, it } from 'vitest';
import { Stillness } from './watchdog.ts';

it('grows while the beat stays the same, and begins anew when it changes', () => {
  const stillness = new Stillness(1000, 7, 0);
  expect([1000, 2000, 3500].map((now) => stillness.look(7, now))).toEqual([1000, 2000, 3500]);
  expect(stillness.look(8, 4500)).toBe(0);
  expect(stillness.look(8, 5500)).toBe(1000);
});

it('does not count the time in which the machine sleeps or the process is suspended', () => {
  const stillness = new Stillness(1000, 7, 0);
  expect(stillness.look(7, 8 * 3600 * 1000)).toBe(2000);
  expect(stillness.look(7, 16 * 3600 * 1000)).toBe(4000);
});
