import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { watchFolder } from './watch.ts';

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

  it('bounds the number of looks at many folders', async () => {
    const many = Array.from({ length: 600 }, (_, index) => watched(folder(String(index))));
    await called(many[0] ?? watched(root));
    const looks = (): number => many.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    const before = looks();
    const began = performance.now();
    await sleep(500);
    const perSecond = ((looks() - before) * 1000) / (performance.now() - began);
    expect(perSecond).toBeGreaterThan(20);
    expect(perSecond).toBeLessThan(300);
  });
});
