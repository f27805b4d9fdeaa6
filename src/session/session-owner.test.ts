import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { openSessionPlace } from '../../test/rig/session-place.ts';
import { createLoop } from '../owner/create-loop.ts';
import { readLoopOf } from '../home/read-loop.ts';
import { registeredIn } from '../home/registry.ts';
import { cancelSession, endTurn, sessionStatus, startSession, type StartedSession } from './session.ts';
import { leaveSteps } from './drive-turn.ts';
import { readState, writeState, type RalphLoopState } from './session-file.ts';
import type { FinishedTurn } from './turn.ts';

let root: string;
let workspace: string;
const env = { PATH: process.env['PATH'] ?? '' };
beforeEach(() => {
  ({ root, workspace } = openSessionPlace());
});

function start(session: string, checks: readonly string[] = [], more: object = {}): Promise<StartedSession> {
  const asked = { prompt: 'Fix it', checks, ...more };
  return startSession({ session, program: 'claude', workspace, asked, env });
}

function said(text: string): FinishedTurn {
  return { messages: [{ role: 'assistant', text }] };
}

const PROMISE = '<promise>DONE</promise>';

function stateOf(session: string): RalphLoopState {
  const state = readState(session);
  if (state === null) throw new Error('the session has no loop');
  return state;
}

describe('a loop of another session', () => {
  it('S5.35 is neither driven, shown nor ended, whatever the state of this session says', async () => {
    await start('s1');
    await start('s2');
    const { loop = '' } = stateOf('s1');
    writeState('s2', { ...stateOf('s2'), loop });
    expect(await sessionStatus('s2')).toBeNull();
    expect(await endTurn('s2', said(PROMISE))).toEqual({ type: 'none' });
    expect(existsSync(join(root, 'state', 'sessions', 's2'))).toBe(false);
    await cancelSession('s3', undefined, loop);
    expect(readLoopOf(loop)?.state).toMatchObject({ outcome: null, turn: { iteration: 1 } });
  });

  it('S5.35 is not touched if it lives in no session', async () => {
    await start('s1');
    const { policy } = readLoopOf(stateOf('s1').loop ?? '')?.state ?? {};
    if (policy === undefined) throw new Error('no policy');
    const other = await createLoop({
      workspace,
      name: 'mine',
      policy: { ...policy, host: 'process' },
      agent: { kind: 'custom', argv: ['touch', 'started'] },
      prompt: { text: 'Mine' },
      env,
      fresh: false,
      parent: null,
    });
    other.own().close();
    writeState('s1', { ...stateOf('s1'), loop: other.spec.id });
    expect(await endTurn('s1', said(PROMISE))).toEqual({ type: 'none' });
    await cancelSession('s1', undefined, other.spec.id);
    expect(existsSync(join(workspace, 'started'))).toBe(false);
    expect(readLoopOf(other.spec.id)?.state.outcome).toBeNull();
  });
});

describe('two steps for one turn', () => {
  it('are one step: a process that saw the state before the other step answers nothing', async () => {
    await start('s1');
    const seen = stateOf('s1');
    expect((await endTurn('s1', said('one'), undefined, { state: seen })).type).toBe('continue');
    expect(await endTurn('s1', said('one'), undefined, { state: seen })).toEqual({ type: 'none' });
    expect(stateOf('s1').iteration).toBe(2);
    expect((await endTurn('s1', said('two'), undefined, { state: stateOf('s1') })).type).toBe('continue');
  });

  it('are one step also if they are asked for at the same time', async () => {
    await start('s1');
    const answers = await Promise.all(Array.from({ length: 8 }, () => endTurn('s1', said('one'))));
    expect(answers.filter(({ type }) => type === 'continue')).toHaveLength(1);
    expect(stateOf('s1').iteration).toBe(2);
  });
});

describe('a cancel at the same time', () => {
  it('S5.26 ends the loop although its step is in the middle of a check, and the step writes no state again', async () => {
    const { state } = await start('s1', ['sleep 60']);
    const step = endTurn('s1', said(PROMISE));
    await until('the owner of the loop', () => readLoopOf(state.loop ?? '')?.owner ?? null, { everyMs: 5 });
    await cancelSession('s1');
    expect((await step).type).toMatch(/^(?:ended|none)$/);
    expect(readLoopOf(state.loop ?? '')?.state.outcome).toMatchObject({ type: 'stopped' });
    expect(readState('s1')).toBeNull();
  });

  it('S5.62 of two starts leaves one loop', async () => {
    await Promise.all([start('s1'), start('s1')]);
    const unended = registeredIn(workspace).filter(({ id }) => readLoopOf(id)?.state.outcome === null);
    expect(unended.map(({ id }) => id)).toEqual([stateOf('s1').loop]);
  });
});

describe('a step that is broken off', () => {
  it('ends its check, and the next turn judges the promise', async () => {
    await start('s1', ['echo $$ > pid; mv pid running; test -e fixed || exec sleep 60']);
    expect(leaveSteps()).toBe(false);
    const step = endTurn('s1', said(PROMISE));
    const running = join(workspace, 'running');
    await until('the check', () => existsSync(running) || null);
    const pid = Number(readFileSync(running, 'utf8'));
    expect(leaveSteps()).toBe(true);
    await step;
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    writeFileSync(join(workspace, 'fixed'), '');
    expect(await endTurn('s1', said('What was I doing?'))).toMatchObject({ outcome: 'done' });
  });
});

describe('the clock', () => {
  const HOUR = 3_600_000;
  function at(now: number): void {
    vi.useFakeTimers({ toFake: ['Date'], now });
  }
  afterEach(() => {
    vi.useRealTimers();
  });

  it('S5.37 counts the turns of the session, which no process of Ralph waits for, towards the time limit', async () => {
    const began = Date.now();
    await start('s1', [], { maxTime: '2h' });
    at(began + HOUR);
    expect((await endTurn('s1', said('one'))).type).toBe('continue');
    at(began + 2 * HOUR + 60_000);
    expect(await endTurn('s1', said('two'))).toMatchObject({ outcome: 'time-exhausted' });
  });

  it('may be set back: the loop goes on', async () => {
    const began = Date.now();
    await start('s1');
    at(began - 24 * HOUR);
    expect((await endTurn('s1', said('one'))).type).toBe('continue');
  });
});

describe('a folder that is gone', () => {
  it('is named when a turn ends, and the loop continues when it is back', async () => {
    await start('s1');
    renameSync(workspace, join(root, 'moved'));
    await expect(endTurn('s1', said('one'))).rejects.toThrow(
      `the folder of this loop is gone: ${workspace}; if it was moved, run there: ralph move ${workspace}`,
    );
    renameSync(join(root, 'moved'), workspace);
    expect((await endTurn('s1', said('one'))).type).toBe('continue');
  });

  it('keeps no loop from being cancelled or replaced', async () => {
    await start('s1');
    renameSync(workspace, join(root, 'moved'));
    expect(await cancelSession('s1')).toMatchObject({ iteration: 1 });
    expect(readState('s1')).toBeNull();
    await expect(start('s1')).rejects.toThrow(`there is no folder ${workspace}`);
  });
});

describe('a state that cannot be read', () => {
  it('because a folder is in its place is replaced by a new loop', async () => {
    mkdirSync(join(root, 'state', 'sessions', 's1', 'ralph-loop-state.json'), { recursive: true });
    const { state } = await start('s1');
    expect(readState('s1')).toEqual(state);
  });

  it('because a link is in its place is replaced, and what the link leads to stays', async () => {
    mkdirSync(join(root, 'state', 'sessions'), { recursive: true });
    mkdirSync(join(root, 'elsewhere', 'kept'), { recursive: true });
    symlinkSync(join(root, 'elsewhere'), join(root, 'state', 'sessions', 's1'));
    const { state } = await start('s1');
    expect(readState('s1')).toEqual(state);
    expect(existsSync(join(root, 'elsewhere', 'kept'))).toBe(true);
  });
});
