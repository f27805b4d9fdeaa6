import { cachedDataVersionTag } from 'node:v8';
import { expect, it, vi } from 'vitest';
import { useLittleMemory } from './little-memory.ts';

it('sets flags of V8 after a second, and sets them back, so that kept code can be used', () => {
  vi.useFakeTimers();
  try {
    const before = cachedDataVersionTag();
    const end = useLittleMemory();
    vi.advanceTimersByTime(999);
    expect(cachedDataVersionTag()).toBe(before);
    vi.advanceTimersByTime(1);
    expect(cachedDataVersionTag()).not.toBe(before);
    end();
    expect(cachedDataVersionTag()).toBe(before);
  } finally {
    vi.useRealTimers();
  }
});

it('sets no flags in a process that ends before', () => {
  vi.useFakeTimers();
  try {
    const before = cachedDataVersionTag();
    useLittleMemory()();
    vi.advanceTimersByTime(10_000);
    expect(cachedDataVersionTag()).toBe(before);
  } finally {
    vi.useRealTimers();
  }
});
