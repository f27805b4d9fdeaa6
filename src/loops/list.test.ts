import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openState, registerLoop, specFor } from '../../test/rig/loop-folder.ts';
import { enlist } from '../home/background.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { lineOf } from '../journal/lines.ts';
import type { LoopEvent } from '../loop/event.ts';
import { refOf } from './find.ts';
import type { Filter } from './list.ts';
import { localLoops } from './local-loops.ts';
import { Rights } from './rights.ts';

const ended: LoopEvent = { type: 'loop.ended', outcome: { type: 'waiting' }, at: 1 };
let workspace: string;
beforeEach(() => {
  workspace = openState();
});

const names = async (filter: Partial<Filter> = {}, loops = localLoops()): Promise<readonly string[]> =>
  (await loops.list({ workspace, ...filter })).map(({ name }) => name);

describe('the list of loops', () => {
  it('has those that the filter wants', async () => {
    registerLoop(workspace, 'a', [ended], { tags: ['night'] });
    registerLoop(workspace, 'b');
    registerLoop(`${workspace}2`, 'c', [ended]);
    expect(await names()).toEqual(['a', 'b']);
    expect(await names({ workspace: null })).toEqual(['a', 'b', 'c']);
    expect(await names({ workspace: null, status: 'waiting' })).toEqual(['a', 'c']);
    expect(await names({ status: 'crashed' })).toEqual(['b']);
    expect(await names({ status: 'failed' })).toEqual(['b']);
    expect(await names({ status: 'stopped' })).toEqual(['a']);
    expect(await names({ tag: 'night' })).toEqual(['a']);
    expect(await localLoops().strays(null)).toEqual({ gone: ['c'], strangers: [] });
  });

  it('has the loops of the workspace that a folder is in', async () => {
    registerLoop(workspace, 'a');
    const folder = join(workspace, 'below');
    mkdirSync(folder);
    expect(await names({ workspace: folder })).toEqual(['a']);
  });

  it('has, where the caller wants to wait, only loops that are driven or wait for the daemon, and none of its own', async () => {
    registerLoop(workspace, 'crashed');
    enlist(registerLoop(workspace, 'entered').id);
    const driven = registerLoop(workspace, 'driven');
    writeFileSync(driven.lock, JSON.stringify(thisProcess()));
    expect(await names({ waitable: true })).toEqual(['driven', 'entered']);
    const runs = [{ run: `${driven.id}.1`, loop: driven.id, hasShim: true }];
    const rights = new Rights(() => ({ is: 'run', runs }));
    expect(await names({ waitable: true }, localLoops({ rights }))).toEqual(['entered']);
  });

  it('has no secrets', async () => {
    vi.stubEnv('THE_API_KEY', 'abcdefgh12345678');
    registerLoop(workspace, 'a', [], { agent: { kind: 'custom', argv: ['x', 'abcdefgh12345678'] } });
    const [row] = await localLoops().list({ workspace });
    expect(row?.worker.cmd).toEqual(['x', '<redacted>']);
  });

  it('is right after every change of a file, also if it was asked for before', async () => {
    const folder = registerLoop(workspace, 'a');
    const shown = async (): Promise<unknown> => {
      const [row] = await localLoops().list({ workspace });
      return row && { status: row.status, iterations: row.iterations, cmd: row.worker.cmd.join(' ') };
    };
    const long = Date.now() + 60_000;
    vi.spyOn(Date, 'now').mockReturnValue(long);
    const crashed = { status: 'crashed', iterations: 0, cmd: 'agent' };
    expect([await shown(), await shown()]).toEqual([crashed, crashed]);
    appendFileSync(folder.journal, lineOf({ type: 'iteration.started', iteration: 1, at: 1 }, 2));
    expect([await shown(), await shown()]).toMatchObject([{ iterations: 1 }, { iterations: 1 }]);
    const other = specFor(folder, { agent: { kind: 'custom', argv: ['other'] } });
    writeFileSync(folder.spec, JSON.stringify(other));
    expect([await shown(), await shown()]).toMatchObject([{ cmd: 'other' }, { cmd: 'other' }]);
    writeFileSync(folder.journal, 'x');
    expect([await shown(), await shown()]).toMatchObject([
      { status: 'unreadable' },
      { status: 'unreadable' },
    ]);
  });

  it('of a sandbox has only what it may look at', async () => {
    const own = refOf({ spec: specFor(registerLoop(workspace, 'own')) });
    registerLoop(workspace, 'child', [], { parent: { run: `${own.id}.1`, folder: '/x' } });
    registerLoop(workspace, 'other');
    const rights = new Rights(() => ({ is: 'sandbox', own }));
    expect(await names({}, localLoops({ rights }))).toEqual(['child', 'own']);
    expect(await names({ workspace: null }, localLoops({ rights }))).toEqual(['child', 'own']);
  });
});
