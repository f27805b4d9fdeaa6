import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { load } from 'js-yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeLoopFolder, removeLoopFolder } from '../../test/rig/loop-folder.ts';
import { NO_GROUP, startGroup } from '../../test/rig/process-group.ts';
import { INITIAL } from '../loop/initial.ts';
import { closeDeadRuns, recordedChanges, recordedChildren } from './recorded-children.ts';
import type { LoopFolder } from './home.ts';

let folder: LoopFolder;
beforeEach(() => {
  folder = makeLoopFolder();
  mkdirSync(folder.workspaceFolder.path, { recursive: true });
});
afterEach(() => removeLoopFolder(folder));

function put(name: string, text: string): string {
  const path = join(folder.workspaceFolder.runs, name, 'run-info.yaml');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}
const child = (pgid: number, more = ''): string =>
  `run_id: x\nparent_run_id: p\npgid: ${pgid}\nend_time: 0001-01-01T00:00:00Z\n${more}`;
const changes = (...known: readonly string[]) => recordedChanges(folder, { ...INITIAL, children: known });
const started = (name: string) => ({ type: 'child.started', child: name, record: true });

describe('a recorded run', () => {
  it('S1.54 is an active child if it is open, has a parent and its process group is alive', () => {
    const { pgid } = startGroup();
    put('child', child(pgid, 'unknown: 1\n'));
    put('root', child(pgid).replace('parent_run_id: p', 'parent_run_id: ""'));
    put('ended', child(pgid).replace('0001-01-01', '2025-01-01'));
    put('dead', child(NO_GROUP));
    put('../../other/runs/child-of-another-task', child(pgid));
    expect(changes()).toEqual([started('child')]);
    expect(changes('child')).toEqual([]);
    expect(changes('ended')).toEqual([{ type: 'child.ended', child: 'ended' }, started('child')]);
  });

  it('S1.54 is unknown if it has aliases, or if all records together are too long to be read', () => {
    const { pgid } = startGroup();
    put('alias', child(pgid, 'a: &a [1]\nb: [*a, *a]\n'));
    const aliased = recordedChildren(folder);
    expect(aliased.active).toEqual([]);
    expect(aliased.problem).toMatch(/alias/i);
    rmSync(join(folder.workspaceFolder.runs, 'alias'), { recursive: true });
    const long = child(pgid, `#${' '.repeat(60_000)}\n`);
    for (let at = 10; at < 30; at++) put(`long-${at}`, long);
    const { active, problem, isGone } = recordedChildren(folder);
    expect([active.length, isGone('long-29')]).toEqual([17, false]);
    expect(problem).toContain('runs/long-27/run-info.yaml');
    expect(problem).toContain('too long');
  });

  it('S1.54 never counts if it is one of the loop or has the name of a loop, whatever its record says', () => {
    const { pgid } = startGroup();
    put('0001', child(pgid));
    put('0012.3', child(pgid));
    put('mine', child(pgid).replace('run_id: x', 'run_id: it-12345678.1.1'));
    put('loop-87654321', child(pgid));
    expect(changes()).toEqual([]);
    expect(changes('loop-87654321')).toEqual([]);
  });

  it('S1.56 S1.65 is closed if its process group is gone: a child as failed, another as completed if the task is done', async () => {
    const [dead, root] = [put('dead', child(NO_GROUP, 'exit_code: 0\n')), put('root', `pgid: ${NO_GROUP}\n`)];
    writeFileSync(folder.workspaceFolder.marker('DONE'), '');
    await closeDeadRuns(folder.workspaceFolder, recordedChildren(folder));
    expect(load(readFileSync(dead, 'utf8'))).toMatchObject({ status: 'failed', exit_code: -1 });
    expect(load(readFileSync(root, 'utf8'))).toMatchObject({ status: 'completed' });
    expect(recordedChildren(folder).dead).toEqual([]);
  });

  it('S1.54 S1.56 of a sandboxed agent has ended with its run, whatever group its record names', async () => {
    const { pgid } = startGroup();
    const inside = put('inside', child(pgid).replace('parent_run_id: p', 'parent_run_id: it-12345678.1.1'));
    put('outside', child(pgid));
    const sandbox = { checks: false, write: [], hide: [], network: true };
    const found = recordedChildren(folder, { sandbox });
    expect(found).toMatchObject({ active: ['outside'], dead: [{ name: 'inside' }] });
    await closeDeadRuns(folder.workspaceFolder, found);
    expect(load(readFileSync(inside, 'utf8'))).toMatchObject({ status: 'failed', exit_code: -1 });
    expect(recordedChildren(folder).active).toEqual(['outside']);
  });

  it('S1.55 S1.57 is a problem if it cannot be judged, and counts as alive while the loop waits for it', () => {
    const { pgid } = startGroup();
    put('a', child(0));
    put('b', 'garbage: [');
    put('c', child(pgid));
    expect(recordedChildren(folder)).toMatchObject({
      active: ['c'],
      problem: 'runs/a/run-info.yaml: pgid is invalid',
    });
    expect(changes('a', 'b')).toEqual([started('c')]);
  });

  it('S1.57 exists only in a folder: without one there is none, and a file or a link in its place is a problem', async () => {
    expect(recordedChildren(folder)).toMatchObject({ active: [], problem: null });
    expect(changes('gone')).toEqual([{ type: 'child.ended', child: 'gone' }]);
    writeFileSync(folder.workspaceFolder.runs, '');
    expect(recordedChildren(folder).problem).toBe('runs: it is not a folder');
    expect(changes('waited-for')).toEqual([]);
    rmSync(folder.workspaceFolder.runs);
    const elsewhere = join(dirname(folder.workspace), 'elsewhere');
    mkdirSync(join(elsewhere, 'x'), { recursive: true });
    writeFileSync(join(elsewhere, 'x', 'run-info.yaml'), child(NO_GROUP));
    symlinkSync(elsewhere, folder.workspaceFolder.runs);
    expect(recordedChildren(folder).problem).toBe('runs: it is a symbolic link');
    await closeDeadRuns(folder.workspaceFolder, { dead: [{ name: 'x', isChild: true, isOver: false }] });
    expect(readFileSync(join(elsewhere, 'x', 'run-info.yaml'), 'utf8')).toBe(child(NO_GROUP));
  });

  it('with a name that cannot be shown, or among too many, is a problem and not an active child', () => {
    const { pgid } = startGroup();
    put('a\u001b[31mb', child(pgid));
    const { active, problem } = recordedChildren(folder);
    expect(active).toEqual([]);
    expect(problem).toMatch(/^runs: bad name of a folder: "a\\u001b\[31mb"$/);
    rmSync(folder.workspaceFolder.runs, { recursive: true });
    for (let index = 0; index <= 1000; index++)
      mkdirSync(join(folder.workspaceFolder.runs, `x${index}`), { recursive: true });
    expect(recordedChildren(folder).problem).toMatch(/^runs: 1001 folders .* \(maximum 1000\)$/);
  });
});
