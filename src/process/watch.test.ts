import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import type * as Watch from './watch.ts';

// Files of a worker share their modules, and a watch that another test has left would have the timer.
const OWN = './watch.ts?own';
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is the same file
const { watchFolder } = (await import(OWN)) as typeof Watch;

let root: string;
let stops: (() => void)[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-watch-'));
  stops = [];
});
afterEach(() => {
  for (const stop of stops) stop();
  rmSync(root, { recursive: true, force: true });
});
const folder = (name: string): string => {
  mkdirSync(join(root, name), { recursive: true });
  return join(root, name);
};
const watched = (path: string) => {
  const onChange = vi.fn<() => void>();
  stops.push(watchFolder(path, onChange));
  return onChange;
};
const called = (onChange: ReturnType<typeof watched>): Promise<true> => {
  const before = onChange.mock.calls.length;
  return until('a change', () => onChange.mock.calls.length > before || null, { everyMs: 2 });
};

describe('watchFolder', () => {
  it('reports a change to all that watch the folder and have not stopped', async () => {
    const path = folder('a');
    const [first, second, stopped] = [watched(path), watched(path), watched(path)];
    stops.pop()?.();
    const both = Promise.all([called(first), called(second)]);
    writeFileSync(join(path, 'file'), '');
    await both;
    expect(stopped).not.toHaveBeenCalled();
  });

  it('watches a folder that was removed and made again', async () => {
    const path = folder('a');
    const onChange = watched(path);
    rmSync(path, { recursive: true });
    mkdirSync(path);
    const delays: number[] = [];
    for (let looks = 0; looks < 20 && delays.slice(-4).filter((delay) => delay < 200).length < 4; looks++) {
      const next = called(onChange);
      const before = performance.now();
      writeFileSync(join(path, 'file'), '');
      // oxlint-disable-next-line no-await-in-loop -- until changes are reported sooner than by a look each second
      await next;
      delays.push(performance.now() - before);
    }
    expect(delays.length).toBeLessThan(20);
  });

  describe('without events', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
    afterEach(() => void vi.useRealTimers());
    const looks = (all: readonly ReturnType<typeof watched>[]): readonly number[] =>
      all.map(({ mock }) => mock.calls.length);

    it('looks at all folders once a second, with one timer', () => {
      const some = Array.from({ length: 12 }, (_, index) => watched(folder(String(index))));
      for (let second = 1; second <= 5; second++) {
        expect(vi.getTimerCount()).toBe(1);
        vi.advanceTimersByTime(999);
        expect(looks(some)).toEqual(some.map(() => second - 1));
        vi.advanceTimersByTime(1);
        expect(looks(some)).toEqual(some.map(() => second));
      }
    });

    it('bounds the number of looks at many folders, which take turns', () => {
      const many = Array.from({ length: 600 }, (_, index) => watched(folder(String(index))));
      vi.advanceTimersByTime(1000);
      expect(looks(many).filter((count) => count > 0)).toHaveLength(100);
      vi.advanceTimersByTime(5000);
      expect(looks(many)).toEqual(many.map(() => 1));
    });
  });
});
