import { cachedDataVersionTag } from 'node:v8';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NOTHING_KNOWN } from '../loop/report.ts';
import { useLittleMemory, type LittleMemory } from './little-memory.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const startRun = (memory: LittleMemory): void =>
  memory.appended(
    {
      type: 'run.started',
      run: '1.1',
      receipt: { pid: 1, startTime: '1', bootId: '', pidNamespace: '' },
      at: 1,
    },
    NOTHING_KNOWN.state,
    NOTHING_KNOWN.report,
  );

it('sets flags of V8 when an agent has run for a moment, and sets them back, so that kept code can be used', () => {
  const before = cachedDataVersionTag();
  const memory = useLittleMemory();
  vi.advanceTimersByTime(10_000);
  startRun(memory);
  vi.advanceTimersByTime(19);
  expect(cachedDataVersionTag()).toBe(before);
  vi.advanceTimersByTime(1);
  expect(cachedDataVersionTag()).not.toBe(before);
  memory.end();
  expect(cachedDataVersionTag()).toBe(before);
});

it('sets no flags in a process that ends before', () => {
  const before = cachedDataVersionTag();
  const memory = useLittleMemory();
  startRun(memory);
  memory.end();
  vi.advanceTimersByTime(10_000);
  expect(cachedDataVersionTag()).toBe(before);
});
