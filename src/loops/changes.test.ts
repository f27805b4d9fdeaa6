import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openState, registerLoop, specFor } from '../../test/rig/loop-folder.ts';
import { unreserve } from '../home/registry.ts';
import { thisProcess } from '../home/lock-owner.ts';
import type { LoopFolder } from '../home/home.ts';
import { lineOf } from '../journal/lines.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { Changes, ListMark, RowChange } from './changes.ts';
import { refOf } from './find.ts';
import type { Filter } from './list.ts';
import { localLoops } from './local-loops.ts';
import type { Call } from './loops.ts';
import { Rights } from './rights.ts';

const MINUTE = 60_000;
let workspace: string;
beforeEach(() => {
  workspace = openState();
});

const changes = (from: ListMark | null, call?: Call, filter: Partial<Filter> = {}): Promise<Changes> =>
  localLoops().changes({ workspace, ...filter }, from, call);
const shown = ({ changes: all }: Changes): readonly string[] =>
  all.map((one: RowChange) => `${one.is} ${one.is === 'removed' ? one.id : one.row.name}`);
const append = ({ journal }: LoopFolder, event: LoopEvent, number: number): void =>
  appendFileSync(journal, lineOf(event, number));
const iteration = (number: number): LoopEvent => ({ type: 'iteration.started', iteration: number, at: 1 });

describe('the changes of a list', () => {
  it('are the rows that were added, changed or removed since the mark', async () => {
    const [a, b] = [registerLoop(workspace, 'a'), registerLoop(workspace, 'b')];
    const all = await changes(null);
    expect(shown(all)).toEqual(['added a', 'added b']);
    expect(await changes(all.next)).toEqual({ changes: [], next: all.next });
    append(a, iteration(1), 2);
    registerLoop(workspace, 'c');
    unreserve(b);
    const next = await changes(all.next);
    expect(shown(next)).toEqual(['changed a', 'added c', `removed ${b.id}`]);
    expect(next.changes[0]).toMatchObject({ row: { name: 'a', iterations: 1 } });
    expect((await changes(next.next)).changes).toEqual([]);
    // From the first mark it is the same again.
    expect(await changes(all.next)).toEqual(next);
  });

  it('are waited for until there is one, until the time is over or the call is aborted', async () => {
    const a = registerLoop(workspace, 'a');
    let { next } = await changes(null);
    const changed = changes(next, { wait: MINUTE });
    append(a, iteration(1), 2);
    ({ next } = await changed);
    expect(shown(await changed)).toEqual(['changed a']);
    const added = changes(next, { wait: MINUTE });
    const b = registerLoop(workspace, 'b');
    expect(shown(await added)).toEqual(['added b']);
    ({ next } = await added);
    const removed = changes(next, { wait: MINUTE });
    unreserve(b);
    rmSync(b.path, { recursive: true });
    expect(shown(await removed)).toEqual([`removed ${b.id}`]);
    ({ next } = await removed);
    expect(await changes(next, { wait: 10 })).toEqual({ changes: [], next });
    const abort = new AbortController();
    const aborted = changes(next, { wait: MINUTE, signal: abort.signal });
    abort.abort();
    expect(await aborted).toEqual({ changes: [], next });
  });

  it('wait for the first loop of a workspace, of all workspaces, and for the owner of a loop', async () => {
    const everywhere = changes({}, { wait: MINUTE }, { workspace: null });
    const here = changes({}, { wait: MINUTE });
    const a = registerLoop(workspace, 'a');
    expect([shown(await here), shown(await everywhere)]).toEqual([['added a'], ['added a']]);
    const owned = changes((await here).next, { wait: MINUTE });
    writeFileSync(a.lock, JSON.stringify(thisProcess()));
    expect((await owned).changes).toMatchObject([{ is: 'changed', row: { status: 'running' } }]);
  });

  it('do not end a wait with what changes no row that the filter wants', async () => {
    const [a, b] = [registerLoop(workspace, 'a'), registerLoop(workspace, 'b', [], { tags: ['night'] })];
    const { next } = await changes(null, {}, { tag: 'night' });
    const waiting = changes(next, { wait: MINUTE }, { tag: 'night' });
    append(a, iteration(1), 2);
    append(b, { type: 'timer.fired', key: 'x', at: 1 }, 2);
    append(b, iteration(1), 3);
    expect(shown(await waiting)).toEqual(['changed b']);
  });

  it('have no secrets, and in a sandbox only what it may look at', async () => {
    vi.stubEnv('THE_API_KEY', 'abcdefgh12345678');
    const own = refOf({ spec: specFor(registerLoop(workspace, 'own')) });
    registerLoop(workspace, 'other', [], { agent: { kind: 'custom', argv: ['abcdefgh12345678'] } });
    expect(JSON.stringify(await changes(null))).not.toContain('abcdefgh12345678');
    const rights = new Rights(() => ({ is: 'sandbox', own }));
    expect(shown(await localLoops({ rights }).changes({ workspace }, null))).toEqual(['added own']);
  });
});
