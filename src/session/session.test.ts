import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openSessionPlace } from '../../test/rig/session-place.ts';
import { readSnapshot } from '../journal/snapshot.ts';
import { queuedControls, post } from '../home/inbox.ts';
import { readLoopOf, type LoopReading } from '../home/read-loop.ts';
import { takeOver } from '../owner/take-over.ts';
import type { Answer } from './answer.ts';
import { cancelSession, endTurn, sessionStatus, startSession, type SessionRequest } from './session.ts';
import { readState } from './session-file.ts';
import type { FinishedTurn } from './turn.ts';

let root: string;
let workspace: string;
beforeEach(() => {
  ({ root, workspace } = openSessionPlace());
});

function start(asked: Partial<SessionRequest['asked']> = {}, session = 's1') {
  return startSession({
    session,
    program: 'claude',
    workspace,
    asked: { prompt: 'Fix $& and $$5', checks: [], ...asked },
    env: { PATH: process.env['PATH'] ?? '' },
  });
}

function said(...texts: readonly string[]): FinishedTurn {
  return { messages: texts.map((text) => ({ role: 'assistant', text })) };
}

const PROMISE = '<promise>DONE</promise>';

function loopOf(session = 's1'): LoopReading {
  const loop = readLoopOf(readState(session)?.loop ?? '');
  if (loop === null) throw new Error('the session has no loop');
  return loop;
}

function promptOf(answer: Answer): string {
  if (answer.type !== 'continue') throw new Error(`the answer is ${answer.type}`);
  return answer.prompt;
}

describe('a loop in a session', () => {
  it('S5.1 S5.7 S5.49 continues with the template of document 004, text inserted literally, until the promise', async () => {
    const { prompt, state, context } = await start();
    expect(prompt).toBe('Fix $& and $$5');
    expect(context).toContain('output: <promise>DONE</promise>');
    expect(state).toMatchObject({ active: true, iteration: 1, maxIterations: 100, sessionId: 's1' });
    const next = await endTurn('s1', said('I have begun.'));
    expect(promptOf(next)).toMatch(/^\[RALPH LOOP - ITERATION 2\/100\]\n/);
    expect(promptOf(next)).toMatch(/Original task:\nFix \$& and \$\$5$/);
    expect(readState('s1')).toMatchObject({ iteration: 2 });
    const done = await endTurn('s1', said('All done.', PROMISE));
    expect(done).toMatchObject({ type: 'ended', outcome: 'done' });
    expect(existsSync(join(root, 'state', 'sessions', 's1'))).toBe(false);
  });

  it('ends with the reason if the done pattern of its settings needs too long', async () => {
    vi.stubEnv('RALPH_TRUST', '1');
    mkdirSync(join(workspace, '.ralph'), { recursive: true });
    writeFileSync(
      join(workspace, '.ralph', 'settings.json'),
      '{ "donePattern": "(a+)+$", "completionPromise": "DONE" }',
    );
    await start();
    const ended = await endTurn('s1', said(`${'a'.repeat(3000)}!`));
    expect(ended).toMatchObject({ type: 'ended', outcome: 'fatal' });
    expect(JSON.stringify(ended)).toContain('the done pattern (a+)+$ needs more than 2 s');
  });

  it.each([
    [{ donePattern: 'ALL (GREEN|FINE)' }, 'ALL GREEN'],
    [{ completionResponse: 'FINISHED' }, '<response>FINISHED</response>'],
    [{ completionTag: 'FINISHED' }, 'FINISHED'],
  ])('counts the promise that the agent is told beside %j of the settings', async (settings, other) => {
    vi.stubEnv('RALPH_TRUST', '1');
    mkdirSync(join(workspace, '.ralph'), { recursive: true });
    writeFileSync(join(workspace, '.ralph', 'settings.json'), JSON.stringify(settings));
    const { context, state } = await start();
    expect(context).toContain(`output: ${PROMISE}`);
    expect(state.completionPromise).toBe('DONE');
    expect(await endTurn('s1', said('I have begun.'))).toMatchObject({ type: 'continue' });
    expect(await endTurn('s1', said(PROMISE))).toMatchObject({ type: 'ended', outcome: 'done' });
    await start();
    expect(await endTurn('s1', said(other))).toMatchObject({ type: 'ended', outcome: 'done' });
  });

  it('S5.37 S5.41 S5.42 stops at the limit, and a promise in the last turn is a success', async () => {
    await start({ maxIterations: 2 });
    expect((await endTurn('s1', said('one'))).type).toBe('continue');
    expect(await endTurn('s1', said('two'))).toMatchObject({
      type: 'ended',
      outcome: 'iterations-exhausted',
    });
    await start({ maxIterations: 2 });
    await endTurn('s1', said('one'));
    expect(await endTurn('s1', said(PROMISE))).toMatchObject({ type: 'ended', outcome: 'done' });
  });

  it('rejects a promise while a check fails, and the next prompt has its output', async () => {
    await start({ checks: ['echo broken thing >&2; test -e fixed'] });
    const next = await endTurn('s1', said(PROMISE));
    expect(next).toMatchObject({ type: 'continue', rejected: ['echo broken thing >&2; test -e fixed'] });
    expect(promptOf(next)).toContain('broken thing');
    writeFileSync(join(workspace, 'fixed'), '');
    expect(await endTurn('s1', said(PROMISE))).toMatchObject({ type: 'ended', outcome: 'done' });
  });

  it('runs the checks of the trusted settings before it accepts a promise, or those that were asked for', async () => {
    vi.stubEnv('RALPH_TRUST', '1');
    mkdirSync(join(workspace, '.ralph'));
    const settings = '{"checks": [{"command": "echo settings; false"}]}';
    writeFileSync(join(workspace, '.ralph', 'settings.json'), settings);
    await start();
    const next = await endTurn('s1', said(PROMISE));
    expect(next).toMatchObject({ type: 'continue', rejected: ['echo settings; false'] });
    await start({ checks: ['true'] });
    expect(await endTurn('s1', said(PROMISE))).toMatchObject({ type: 'ended', outcome: 'done' });
  });

  it('S5.1 ends as stuck after ten identical answers without a tool call or a changed file', async () => {
    execFileSync('git', ['init', '--quiet', workspace]);
    await start();
    const answer = async (turn: FinishedTurn, times: number): Promise<Answer> => {
      const last = await endTurn('s1', { steps: 0, ...turn });
      return times > 1 && last.type === 'continue' ? answer(turn, times - 1) : last;
    };
    const same = said('I am done.');
    expect((await answer(same, 9)).type).toBe('continue');
    expect((await answer({ ...same, steps: 1 }, 1)).type).toBe('continue');
    expect((await answer(same, 9)).type).toBe('continue');
    writeFileSync(join(workspace, 'by-a-person'), '');
    expect((await answer(same, 9)).type).toBe('continue');
    expect((await answer(said('I am ready.'), 9)).type).toBe('continue');
    const end = await answer(said('I am ready.'), 1);
    expect(end).toMatchObject({ type: 'ended', outcome: 'stuck', state: { iteration: 38 } });
    expect('message' in end ? end.message : '').toContain(
      'stuck: the same answer 10 times in a row, without a tool call or a changed file',
    );
  }, 60_000);

  it.each([
    [2, 'ended'],
    [0, 'continue'],
  ])(
    'S5.1 ends after another number of identical answers with the setting maxRepeats: %i',
    async (limit, type) => {
      vi.stubEnv('RALPH_TRUST', '1');
      mkdirSync(join(workspace, '.ralph'));
      writeFileSync(join(workspace, '.ralph', 'settings.json'), JSON.stringify({ maxRepeats: limit }));
      await start();
      const same: FinishedTurn = { ...said('I am done.'), steps: 0 };
      expect((await endTurn('s1', same)).type).toBe('continue');
      expect((await endTurn('s1', same)).type).toBe(type);
    },
  );

  it('S5.35 S5.55 never touches another session in the same folder', async () => {
    await start();
    await start({ prompt: 'Something else' }, 's2');
    expect((await endTurn('s3', said(PROMISE))).type).toBe('none');
    expect(await endTurn('s2', said(PROMISE))).toMatchObject({ outcome: 'done' });
    expect(loopOf().state.outcome).toBeNull();
    expect(promptOf(await endTurn('s1', said('go')))).toContain('Fix $& and $$5');
  });

  it('S5.59 takes no promise from people, tools or reasoning', async () => {
    await start();
    const turn: FinishedTurn = {
      messages: [
        { role: 'user', text: PROMISE },
        { role: 'tool', text: PROMISE },
        { role: 'reasoning', text: PROMISE },
        { role: 'assistant', text: 'Not yet.' },
      ],
    };
    expect((await endTurn('s1', turn)).type).toBe('continue');
  });

  it('S5.59 counts only the last 3 messages of the agent', async () => {
    await start();
    expect((await endTurn('s1', said(PROMISE, 'a', 'b', 'c'))).type).toBe('continue');
    expect(await endTurn('s1', said(PROMISE, 'a', 'b'))).toMatchObject({ outcome: 'done' });
  });

  it('S5.62 starts again at iteration 1 with the new task, and ends the earlier loop', async () => {
    await start();
    const first = loopOf();
    await endTurn('s1', said('one'));
    await start({ prompt: 'Another task' });
    expect(readLoopOf(first.spec.id)?.state.outcome).toMatchObject({ type: 'stopped' });
    expect(readState('s1')).toMatchObject({ iteration: 1, prompt: 'Another task' });
  });

  it('S5.26 S5.27 is cancelled by its session only', async () => {
    await start();
    const { spec } = loopOf();
    expect(await cancelSession('s2')).toBeNull();
    expect(await cancelSession('s1')).toMatchObject({ iteration: 1 });
    expect(readLoopOf(spec.id)?.state.outcome).toMatchObject({ type: 'stopped', by: 'person' });
    expect((await endTurn('s1', said('more'))).type).toBe('none');
  });
});

describe('a turn that ends with an error', () => {
  it('closes the run, charges no iteration for a usage limit, and the next turn continues', async () => {
    await start({ maxIterations: 2 });
    const resetsAt = Date.now() + 3_600_000;
    const limited: FinishedTurn = {
      messages: [],
      error: { message: 'usage limit reached', limit: { resetsAt } },
    };
    const rests = await endTurn('s1', limited);
    expect(rests).toMatchObject({ type: 'waiting', state: { iteration: 1 } });
    expect(rests).toHaveProperty('message', expect.stringContaining('usage limit until'));
    expect(loopOf()).toMatchObject({ owner: null, state: { turn: { runs: 1 } } });
    // The person has typed something, and the session has answered.
    expect(promptOf(await endTurn('s1', said('back again')))).toContain('ITERATION 2/2');
  });

  it('counts an ordinary error as a failed run and lets the session go', async () => {
    await start();
    const answer = await endTurn('s1', { messages: [], error: { message: 'something broke' } });
    expect(answer.type).toBe('waiting');
    expect(promptOf(await endTurn('s1', said('again')))).toContain('[RALPH LOOP');
  });
});

describe('limits of a session', () => {
  it('holds a cost limit between turns', async () => {
    await start({ maxCost: 1 });
    expect(await endTurn('s1', { ...said('dear'), costUsd: 2 })).toMatchObject({
      type: 'ended',
      outcome: 'cost-exhausted',
    });
  });

  it('holds a token limit between turns', async () => {
    await start({ maxTokens: 100 });
    const tokens = { input: 90, output: 20, cacheRead: 0, cacheWrite: 0 };
    expect(await endTurn('s1', { ...said('much'), tokens })).toMatchObject({ outcome: 'tokens-exhausted' });
  });

  it('judges a promise that comes after the time limit', async () => {
    const outOfTime = { type: 'set', limits: { timeMs: 1 } } as const;
    await start();
    post(loopOf().folder.inbox, outOfTime, Date.now());
    expect(await endTurn('s1', said(PROMISE))).toMatchObject({ outcome: 'done' });
    await start();
    post(loopOf().folder.inbox, outOfTime, Date.now());
    expect(await endTurn('s1', said('late'))).toMatchObject({ outcome: 'time-exhausted' });
  });
});

describe('other commands', () => {
  it('pauses at the end of the turn and lets the session go until it is resumed', async () => {
    await start();
    const { folder } = loopOf();
    post(folder.inbox, { type: 'pause' }, Date.now());
    expect(await endTurn('s1', said('one'))).toMatchObject({
      type: 'waiting',
      message:
        'Ralph loop: paused; to continue it, run "ralph resume fix-and-5-1" in a terminal and type anything here',
    });
    expect(queuedControls(folder.inbox)).toEqual([]);
    expect(await endTurn('s1', said(PROMISE))).toMatchObject({ type: 'waiting' });
    post(folder.inbox, { type: 'resume', now: false }, Date.now());
    expect((await endTurn('s1', said('two'))).type).toBe('continue');
  });

  it('adds words of a person to the next prompt', async () => {
    await start();
    post(loopOf().folder.inbox, { type: 'tell', text: 'use tabs' }, Date.now());
    expect(promptOf(await endTurn('s1', said('one')))).toContain('use tabs');
  });

  it('takes no step while another process takes it', async () => {
    await start();
    const { spec } = loopOf();
    const owner = await takeOver(spec.workspace, spec.name, { by: 'background' });
    expect((await endTurn('s1', said(PROMISE))).type).toBe('none');
    owner.close();
    expect(await endTurn('s1', said(PROMISE))).toMatchObject({ outcome: 'done' });
  });

  it('shows where the loop of a session stands', async () => {
    expect(await sessionStatus('s1')).toBeNull();
    await start({ checks: ['false'] });
    await endTurn('s1', said(PROMISE));
    expect((await sessionStatus('s1'))?.lines).toEqual([
      'Ralph loop fix-and-5-1: in-session, iteration 2 of 100',
      'Failing check: false',
      'Done when the agent says <promise>DONE</promise> and this check passes: false',
      'Details: ralph status fix-and-5-1',
    ]);
  });

  it('has the other limits and all checks', async () => {
    await start({ checks: ['npm test', 'npm run lint'], maxTime: '2h', maxCost: 5, maxTokens: 1000 });
    expect((await sessionStatus('s1'))?.lines.slice(1, -1)).toEqual([
      'Limits: 2h 0m of active time, $5, 1000 tokens',
      'Done when the agent says <promise>DONE</promise> and these checks pass: npm test, npm run lint',
    ]);
  });

  it('says that the loop has ended, if it was stopped elsewhere', async () => {
    await start();
    await stopLoop();
    expect((await sessionStatus('s1'))?.lines).toEqual([
      'Ralph loop fix-and-5-1 has ended after 1 iteration: cancelled by a person',
      'Details: ralph status fix-and-5-1',
    ]);
  });
});

describe('a start is refused', () => {
  it.each(['', '../x', 'a/b', '.', '..', 'x'.repeat(129), 'a b', 'ä'])(
    'for the session id %j, before it becomes a path',
    async (session) => {
      await expect(start({}, session)).rejects.toThrow('invalid session id');
      expect(existsSync(join(root, 'state', 'sessions'))).toBe(false);
    },
  );

  it('for settings that are not trusted, and leaves nothing behind', async () => {
    mkdirSync(join(workspace, '.ralph'));
    writeFileSync(join(workspace, '.ralph', 'settings.json'), '{"checks": [{"command": "make"}]}');
    await expect(start()).rejects.toThrow(/settings.json of .* is not trusted yet; review with: ralph trust/);
    expect(existsSync(join(root, 'state', 'loops'))).toBe(false);
  });

  it('for a wrong value, which keeps the loop that the session has', async () => {
    await start();
    await expect(start({ maxTime: 'soon' })).rejects.toThrow('--max-time');
    expect(loopOf().state.outcome).toBeNull();
  });
});

/** As `ralph stop` does. */
async function stopLoop(): Promise<void> {
  const { spec } = loopOf();
  const owner = await takeOver(spec.workspace, spec.name, { by: 'background' });
  owner.receive({ type: 'stop', now: true, by: 'person' });
  await owner.drive();
}

it('forgets sessions whose loop was stopped meanwhile, at the next start', async () => {
  await start();
  await stopLoop();
  await start({}, 's2');
  expect(readState('s1')).toBeNull();
  expect(readState('s2')).not.toBeNull();
});

it('tells the session that its loop was stopped meanwhile', async () => {
  await start();
  await stopLoop();
  const answer = await endTurn('s1', said('one'));
  expect(answer).toMatchObject({ type: 'ended', outcome: 'stopped' });
  expect(answer).toHaveProperty(
    'message',
    expect.stringContaining('ended after 1 iteration: cancelled by a person'),
  );
  expect((await endTurn('s1', said('two'))).type).toBe('none');
});

it('notes settings that do not apply, and keeps the files of the loop in the workspace folder', async () => {
  vi.stubEnv('RALPH_TRUST', '1');
  mkdirSync(join(workspace, '.ralph'));
  writeFileSync(join(workspace, '.ralph', 'settings.json'), '{"worktree": true}');
  const { notes } = await start();
  expect(notes.join()).toContain('the setting worktree does not apply to a loop inside a session');
  const { spec } = loopOf();
  const state: unknown = JSON.parse(
    readFileSync(join(workspace, '.ralph/loops', spec.name, 'state.json'), 'utf8'),
  );
  expect(state).toMatchObject({ worker_name: spec.name, preset: 'promise', status: 'running' });
});

it('leaves a snapshot after each turn, so that the next one need not read the journal from its start', async () => {
  await start();
  for (const text of ['one', 'two']) {
    // oxlint-disable-next-line no-await-in-loop -- one turn after the other
    await endTurn('s1', said(text));
    const { folder } = loopOf();
    const events = readFileSync(folder.journal, 'utf8').trim().split('\n').length - 1;
    expect(readSnapshot(folder.snapshot)?.mark.events).toBe(events);
  }
});
