import { cachedDataVersionTag, setFlagsFromString } from 'node:v8';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NOTHING_KNOWN } from '../loop/report.ts';
import { littleMemory } from './little-memory.ts';

beforeEach(() => {
  vi.useFakeTimers();
  setFlagsFromString('--semi-space-growth-factor=2');
  setFlagsFromString('--heap-growing-percent=0');
});
afterEach(() => void vi.useRealTimers());

it('sets flags of V8 when an agent has run for a moment', () => {
  const before = cachedDataVersionTag();
  const memory = littleMemory();
  vi.advanceTimersByTime(10_000);
  const receipt = { pid: 1, startTime: '1', bootId: '', pidNamespace: '' };
  const { state, report } = NOTHING_KNOWN;
  memory.appended({ type: 'run.started', run: '1.1', receipt, at: 1 }, state, report);
  vi.advanceTimersByTime(19);
  expect(cachedDataVersionTag()).toBe(before);
  vi.advanceTimersByTime(1);
  expect(cachedDataVersionTag()).not.toBe(before);
});
