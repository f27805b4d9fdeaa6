import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openJournal } from '../journal/file.ts';
import type { Happening } from '../loop/event.ts';
import { DEFAULT_POLICY } from '../loop/default-policy.ts';
import { INITIAL } from '../loop/initial.ts';
import type { LoopState } from '../loop/state.ts';
import { enlist } from './background.ts';
import { refuseChild, takePlace, termsOfChild } from './child-limits.ts';
import { announceChild, childChanges, forgetEndedChildren, statusOfChild } from './children.ts';
import { noteEnd } from './end-note.ts';
import { thisProcess } from './lock-owner.ts';
import { STATE } from './state-folder.ts';
import { writeSpec, type ParentRun, type Spec } from './spec.ts';
import { LoopFolder } from './home.ts';

let root: string;
let before: string | undefined;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-children-'));
  before = process.env[STATE];
  process.env[STATE] = root;
});
afterEach(() => {
  if (before === undefined) delete process.env[STATE];
  else process.env[STATE] = before;
  rmSync(root, { recursive: true, force: true });
});

const idOf = (name: string): string => `${name}-0a1b2c3d`;
const folderOf = (name: string): LoopFolder =>
  new LoopFolder({ id: idOf(name), name, workspace: '/nowhere' });
const parentOf = (name: string): ParentRun => ({ run: `${idOf(name)}.1.1`, folder: folderOf(name).path });

/** Writes a loop with these events after its creation. */
function write(name: string, parent: Spec['parent'], events: readonly Happening[] = []): LoopFolder {
  const folder = folderOf(name);
  mkdirSync(folder.path, { recursive: true });
  const agent = { kind: 'custom', argv: ['true'] };
  const created = new Date().toISOString();
  const prompt = { text: 'x' };
  writeSpec(
    folder.spec,
    { version: 1, id: folder.id, name, workspace: '/nowhere', created, agent, prompt, parent },
    {},
  );
  writeFileSync(folder.lock, '');
  const journal = openJournal(folder.journal, { knownMark: null, begin() {}, take() {} });
  const all: readonly Happening[] = [{ type: 'loop.created', name, policy: DEFAULT_POLICY }, ...events];
  for (const [index, event] of all.entries()) journal.append({ ...event, at: 1000 + index }, index);
  if (all.at(-1)?.type === 'loop.ended') noteEnd(folder, journal.mark.bytes);
  journal.close();
  return folder;
}

/** A child of `parent` that is registered with it. */
function child(name: string, events: readonly Happening[] = []): LoopFolder {
  const folder = write(name, parentOf('parent'), events);
  announceChild(folderOf('parent').path, folder);
  return folder;
}

const own = (folder: LoopFolder): void => writeFileSync(folder.lock, JSON.stringify(thisProcess()));
const done: Happening = {
  type: 'loop.ended',
  outcome: { type: 'done', verified: false, childrenLeft: [] },
};
const knowing = (...children: readonly string[]): LoopState => ({
  ...INITIAL,
  created: true,
  children: children.map(idOf),
});
const after = (parent: LoopFolder, state: LoopState): readonly string[] =>
  childChanges(parent, state).map((event) =>
    event.type === 'child.ended' ? `ended ${event.lost ?? event.outcome?.type}` : event.type,
  );

describe('a child', () => {
  it('S1.54 is active while a process drives it, the daemon will, or it is paused', () => {
    const parent = write('parent', null);
    own(child('driven'));
    enlist(child('enlisted').id);
    child('paused', [{ type: 'control.received', id: '1', control: { type: 'pause' } }]);
    expect(after(parent, knowing())).toHaveLength(3);
    expect(new Set(after(parent, knowing()))).toEqual(new Set(['child.started']));
    expect(childChanges(parent, knowing())[0]).toMatchObject({ run: '1.1' });
    expect(after(parent, knowing('driven', 'enlisted', 'paused'))).toEqual([]);
  });

  it('S1.56 that no process drives and none will is recorded as crashed, and one whose files are gone as removed', () => {
    const parent = write('parent', null);
    child('kid');
    expect(after(parent, knowing('kid'))).toEqual(['ended crashed']);
    rmSync(folderOf('kid').path, { recursive: true });
    expect(after(parent, knowing('kid'))).toEqual(['ended removed']);
    // Its registration alone is not worth an event.
    expect(after(parent, knowing())).toEqual([]);
  });

  it('that started and ended between two looks is recorded once, with its outcome', () => {
    const parent = write('parent', null);
    const kid = child('kid', [done]);
    expect(after(parent, knowing())).toEqual(['child.started', 'ended done']);
    forgetEndedChildren(parent, knowing());
    expect(existsSync(join(parent.children, kid.id))).toBe(true);
    const recorded = { ...knowing(), endedChildren: [kid.id] };
    expect(after(parent, recorded)).toEqual([]);
    forgetEndedChildren(parent, recorded);
    expect(readdirSync(parent.children)).toEqual([]);
  });

  it('whose end no owner has confirmed is lost', () => {
    const kid = child('kid', [done]);
    rmSync(kid.ended);
    expect(statusOfChild(kid.id)).toEqual({ is: 'lost', why: 'crashed' });
  });

  it('S1.58 counts from its registration, before its first event', () => {
    write('parent', null);
    const folder = folderOf('kid');
    mkdirSync(folder.path, { recursive: true });
    own(folder);
    expect(statusOfChild(folder.id)).toEqual({ is: 'new' });
    writeFileSync(folder.lock, '');
    expect(statusOfChild(folder.id)).toEqual({ is: 'lost', why: 'removed' });
  });

  it('of another loop is not believed, whatever is registered', () => {
    const parent = write('parent', null);
    write('other', null);
    const stranger = write('stranger', parentOf('other'), [done]);
    announceChild(parent.path, stranger);
    expect(after(parent, knowing())).toEqual([]);
    forgetEndedChildren(parent, knowing());
    expect(readdirSync(parent.children)).toEqual([]);
  });
});

it('a recorded run of another program is no loop, and its end is not seen here', () => {
  const parent = write('parent', null);
  const state = { ...knowing(), children: ['their-run'] };
  expect(after(parent, state)).toEqual([]);
});

describe('the limits', () => {
  const limits = (maxDepth: number, maxActive: number): Happening => ({
    type: 'policy.changed',
    policy: { ...DEFAULT_POLICY, childLimits: { maxDepth, maxActive } },
  });

  it('give the last place to one of many that ask at the same time', async () => {
    const parent = write('parent', null, [limits(3, 2)]);
    const kids = ['a', 'b', 'c', 'd'].map((name) => write(name, parentOf('parent')));
    for (const kid of kids) own(kid);
    const asked = await Promise.allSettled(kids.map((kid) => takePlace(parentOf('parent'), kid)));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(readdirSync(parent.children)).toHaveLength(2);
    // A child that is resumed has its place already.
    const [first = ''] = readdirSync(parent.children);
    await takePlace(parentOf('parent'), folderOf(first.replace('-0a1b2c3d', '')));
    writeFileSync(folderOf(first.replace('-0a1b2c3d', '')).lock, '');
    expect(() => refuseChild(parentOf('parent'))).not.toThrow();
  });

  it('say what an agent can do instead', () => {
    write('parent', null, [limits(3, 1)]);
    own(child('kid'));
    expect(() => refuseChild(parentOf('parent'))).toThrow(
      'this loop ("parent") already has 1 active child (kid): wait for one with: ralph wait NAME, or do the work yourself',
    );
    write('deep', { ...parentOf('parent'), depth: 2 }, [limits(2, 1)]);
    expect(() => refuseChild(parentOf('deep'))).toThrow(
      'this loop ("deep") is 2 generations below the first loop and may start no child loops (children.maxDepth is 2): do the work yourself',
    );
    write('barren', null, [limits(0, 8)]);
    expect(() => refuseChild(parentOf('barren'))).toThrow('may start no loops (children.maxDepth is 0)');
    expect(() => refuseChild(parentOf('gone'))).toThrow('the loop of this run cannot be read');
  });

  it('are never wider for a child than for its parent, and its depth is kept if its parent is removed', () => {
    write('parent', null, [limits(2, 5)]);
    const policy = { ...DEFAULT_POLICY, childLimits: { maxDepth: 9, maxActive: 1 } };
    const terms = termsOfChild(parentOf('parent'), policy);
    expect(terms.policy.childLimits).toEqual({ maxDepth: 2, maxActive: 1 });
    const { depth } = terms.parent;
    write('kid', { ...parentOf('parent'), depth: depth ?? 0 });
    rmSync(folderOf('parent').path, { recursive: true });
    expect(termsOfChild(parentOf('kid'), policy).parent.depth).toBe(2);
  });

  it('give no place in a loop that is being stopped or has ended', () => {
    write('stopping', null, [
      { type: 'control.received', id: '1', control: { type: 'stop', now: false, by: 'person' } },
    ]);
    expect(() => refuseChild(parentOf('stopping'))).toThrow('"stopping", is being stopped and can start no');
    write('ended', null, [done]);
    expect(() => refuseChild(parentOf('ended'))).toThrow('"ended", has ended and can start no');
  });
});
