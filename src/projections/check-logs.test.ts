import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CheckLogs } from './check-logs.ts';
import { LoopFolder } from '../home/home.ts';

const LIMIT = 10_000;
let state: string;
let folder: LoopFolder;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'ralph-check-logs-'));
  folder = new LoopFolder({ id: 'it-1', name: 'it', workspace: '/w' }, state);
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

/** The log of a check that has printed so much. */
function log(iteration: number, size: number, name = 'test.log'): string {
  const path = join(folder.run(`${iteration}.1`), 'checks', name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'x'.repeat(size));
  return path;
}

/** The iterations whose logs are complete. */
function complete(size: number): readonly number[] {
  return readdirSync(join(state, 'runs')).flatMap((run) =>
    statSync(join(state, 'runs', run, 'checks', 'test.log')).size === size ? [Number(run)] : [],
  );
}

it('empties the oldest logs beyond the limit, but not the first failed one and the last two', () => {
  const logs = new CheckLogs(folder, LIMIT);
  const emptied: (readonly string[])[] = [];
  for (let iteration = 1; iteration <= 8; iteration++)
    emptied.push(logs.add(log(iteration, 2000), iteration, { code: iteration === 2 ? 1 : 0 }));
  expect(emptied.map((paths) => paths.map((path) => Number(basename(dirname(dirname(path))))))).toEqual([
    [],
    [],
    [],
    [],
    [],
    [1, 3, 4],
    [],
    [5, 6],
  ]);
  expect(complete(2000)).toEqual([2, 7, 8]);
  expect(readFileSync(join(state, 'runs/0001/checks/test.log'), 'utf8')).toBe(
    '[emptied by ralph: the logs of the checks of this loop took more than 9.8 KB; this one had 2 KB]\n',
  );
});

it('counts what an earlier owner has left, once a log is large or some iterations have passed', () => {
  for (let iteration = 1; iteration <= 15; iteration++) log(iteration, 2000);
  expect(new CheckLogs(folder, LIMIT).add(log(17, 5), 17, { code: 0 })).toEqual([]);
  expect(new CheckLogs(folder, LIMIT).add(log(16, 5), 16, { code: 0 })).toHaveLength(12);
  expect(new CheckLogs(folder, LIMIT).add(log(18, 9000), 18, { code: 0 })).toHaveLength(3);
});

it('keeps the logs of the last two runs, however large they are', () => {
  const logs = new CheckLogs(folder, LIMIT);
  for (const iteration of [1, 2])
    expect(logs.add(log(iteration, 2 * LIMIT), iteration, { code: 1 })).toEqual([]);
  // The first one failed.
  expect(logs.add(log(3, 2 * LIMIT), 3, { code: 1 })).toEqual([]);
  expect(logs.add(log(4, 2 * LIMIT), 4, { code: 1 })).toHaveLength(1);
  expect(complete(2 * LIMIT)).toEqual([1, 3, 4]);
});
