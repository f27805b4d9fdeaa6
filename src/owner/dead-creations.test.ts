import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header, lineOf } from '../journal/lines.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { Outcome } from '../loop/outcome.ts';
import { presets } from '../loop/presets.ts';
import { saveEnvironment, savedEnvironment } from '../home/saved-environment.ts';
import { takeLock } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { registered, reserve } from '../home/registry.ts';
import { LoopFolder } from '../home/home.ts';
import { forgetDeadCreations } from './dead-creations.ts';

let root: string;
let state: string;
let workspace: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-dead-')));
  [state, workspace] = [join(root, 'state'), join(root, 'work')];
  execFileSync('git', ['init', '--quiet', workspace]);
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@t'];
  git(...who, 'commit', '--quiet', '--allow-empty', '--message', 'start');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-C', workspace, ...args], { encoding: 'utf8' });
const created: LoopEvent = { type: 'loop.created', at: 0, name: 'it', policy: presets.default.policy };
const records = (): readonly string[] =>
  git('for-each-ref', '--format=%(refname)', 'refs/ralph').split('\n').filter(Boolean);

/** What a creator writes up to the record of the start. */
function begin(name: string): LoopFolder {
  const key = { id: `${name}-1`, name, workspace };
  const folder = new LoopFolder(key, join(state, 'loops', key.id));
  mkdirSync(folder.path, { recursive: true });
  reserve(key, state);
  saveEnvironment(key.id, { env: { TOKEN: 'a secret' }, argv: [], umask: 0o22 }, state);
  git('update-ref', `refs/ralph/${key.id}/start`, 'HEAD');
  return folder;
}

describe('a loop whose creator died', () => {
  it('loses its kept environment, its records, its folder and its name; others keep theirs', async () => {
    const dead = begin('dead');
    const started = begin('started');
    writeFileSync(started.journal, 'x'.repeat(5000));
    const now = begin('now');
    const lock = await takeLock(now.lock, thisProcess());
    // Of a loop that is gone, and of one that has just begun.
    for (const id of ['stale-1', 'fresh-1']) saveEnvironment(id, { env: {}, argv: [], umask: 0o22 }, state);
    utimesSync(join(state, 'kept', 'stale-1.json'), new Date(0), new Date(0));

    expect([...(await forgetDeadCreations(state))].toSorted()).toEqual(['dead-1', 'stale-1']);
    const left = ['started-1', 'now-1', 'fresh-1', 'dead-1', 'stale-1'];
    expect(left.filter((id) => savedEnvironment(id, state) !== null)).toEqual(left.slice(0, 3));
    expect(existsSync(dead.path)).toBe(false);
    expect(records()).toEqual(['refs/ralph/now-1/start', 'refs/ralph/started-1/start']);
    expect(registered(state).map(({ name }) => name)).toEqual(['now', 'started']);

    if (lock.taken) lock.release();
    expect(await forgetDeadCreations(state)).toEqual(['now-1']);
    expect(records()).toEqual(['refs/ralph/started-1/start']);
  });

  it('loses a file with its environment that was never renamed, once that is old', async () => {
    begin('now');
    const names = ['.old.json.1', '.new.json.2'].map((name) => join(state, 'kept', name));
    for (const name of names) writeFileSync(name, '{"env":{"TOKEN":"a secret"}');
    utimesSync(names[0] ?? '', new Date(0), new Date(0));
    await forgetDeadCreations(state);
    expect(names.map((name) => existsSync(name))).toEqual([false, true]);
  });

  it('is left alone, and keeps no other loop from being created, if its files cannot be used', async () => {
    const [journal, lock, dead] = [begin('journal'), begin('lock'), begin('dead')];
    symlinkSync(join(root, 'elsewhere'), journal.journal);
    symlinkSync(join(root, 'elsewhere'), lock.lock);
    expect(await forgetDeadCreations(state)).toEqual(['dead-1']);
    expect(existsSync(dead.path)).toBe(false);
    expect(existsSync(lock.path)).toBe(true);
  });
});

describe('a loop whose owner died right after its end', () => {
  const ended = (outcome: Outcome): LoopEvent => ({ type: 'loop.ended', at: 1, outcome });
  const exhausted = ended({ type: 'iterations-exhausted', limit: 1 });
  const done = ended({ type: 'done', verified: true, childrenLeft: [] });
  const reopened: LoopEvent = { type: 'loop.reopened', at: 2, policy: null };

  it.each([
    ['loses its kept environment', [exhausted], false, []],
    ['loses its kept environment if it is done and its owner has noted so', [done], true, []],
    ['keeps its environment if its next owner judges its claim again', [done], false, ['it-1']],
    ['keeps its environment if it was reopened', [exhausted, reopened], false, ['it-1']],
  ])('%s', async (_, events, isNoted, left) => {
    const { path, journal, ended: note } = begin('it');
    writeFileSync(journal, header() + [created, ...events].map((one, at) => lineOf(one, at + 1)).join(''));
    if (isNoted) writeFileSync(note, `${statSync(journal).size}\n`);
    expect(await forgetDeadCreations(state)).toEqual([]);
    expect(['it-1'].filter((id) => savedEnvironment(id, state) !== null)).toEqual(left);
    expect(existsSync(path)).toBe(true);
  });

  it('keeps its environment while it has an owner', async () => {
    const { journal, lock } = begin('it');
    writeFileSync(journal, header() + [created, exhausted].map((one, at) => lineOf(one, at + 1)).join(''));
    const taken = await takeLock(lock, thisProcess());
    await forgetDeadCreations(state);
    expect(savedEnvironment('it-1', state)).not.toBeNull();
    if (taken.taken) taken.release();
    await forgetDeadCreations(state);
    expect(savedEnvironment('it-1', state)).toBeNull();
  });
});
