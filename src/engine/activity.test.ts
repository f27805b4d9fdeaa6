import { expect, it } from 'vitest';
import { Activity } from './activity.ts';

const bytes = (text: string) => Buffer.from(text);

it('is any output, where the output counts', () => {
  const activity = new Activity('output', false, 0);
  activity.heard(bytes('\rsame'), 1000);
  activity.heard(bytes('\rsame'), 9000);
  expect(activity.at).toBe(9000);
});

it('S4.19 is a change of what a terminal would show, and not the same text again', () => {
  const activity = new Activity('screen', false, 0);
  for (let now = 1000; now <= 20_000; now += 500) activity.heard(bytes('\rsame'), now);
  activity.settle(20_500);
  expect(activity.at).toBe(1000);
  activity.heard(bytes('\rother'), 20_600);
  activity.settle(60_000);
  expect(activity.at).toBe(20_600);
  activity.settle(90_000);
  expect(activity.at).toBe(20_600);
});

it('S4.19 S4.85 is a change of the last 20 lines of a terminal, whatever arrives', () => {
  const activity = new Activity('screen', true, 0);
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  activity.saw(lines.join('\n'), 2000);
  activity.heard(bytes('repaint'), 3000);
  activity.saw(['other', ...lines.slice(1)].join('\n'), 4000);
  expect(activity.at).toBe(2000);
  activity.saw([...lines.slice(0, -1), 'other'].join('\n'), 6000);
  expect(activity.at).toBe(6000);
  // It has not got its prompt yet.
  activity.saw(null, 8000);
  expect(activity.at).toBe(8000);
});

it('keeps only the end of a long output', () => {
  const activity = new Activity('screen', false, 0);
  const chunk = bytes('x'.repeat(200_000));
  for (let now = 1; now <= 3000; now++) activity.heard(chunk, now);
  activity.heard(bytes('\nthe end'), 9000);
  expect(activity.at).toBe(9000);
});
