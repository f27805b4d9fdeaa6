import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openSessionPlace } from '../../../test/rig/session-place.ts';
import { recordedInput, recordedRollout } from '../../../test/rig/codex-session.ts';
import { readLoopOf } from '../../home/read-loop.ts';
import { codexHook, type CodexAnswer } from './events.ts';
import { readState } from '../../session/session-file.ts';

const SESSION = '01a1e57d-b5f7-7603-bedb-e53c2289ee97';
let root: string;
let cwd: string;
beforeEach(() => {
  ({ root, workspace: cwd } = openSessionPlace());
});

/** The recorded event, with the session file as it was then, written just now. */
function hears(name: string, lines: number, fields: object = {}): Promise<CodexAnswer | null> {
  const transcript_path = recordedRollout(root, lines, Date.now());
  return codexHook(recordedInput(name, { cwd, transcript_path, ...fields }), {
    ...process.env,
    PLUGIN_ROOT: '/p',
  });
}

const types = (prompt: string, fields: object = {}): Promise<CodexAnswer | null> =>
  hears('prompt', 1, { prompt, ...fields });

/** A message that the person types while the agent works. */
const typesMeanwhile = (prompt: string): Promise<CodexAnswer | null> => hears('prompt', 12, { prompt });

describe('a message to Codex', () => {
  it('S5.43 S5.44 starts a loop with its text as data, and gives the agent the task and the promise', async () => {
    const answer = await types('/ralph "Fix $(touch oops) `it`" --max-iterations=7 --completion-promise=OK');
    expect(answer?.decision).toBeUndefined();
    expect(answer?.systemMessage).toContain('at most 7 iterations, done at <promise>OK</promise>');
    const context = answer?.hookSpecificOutput?.additionalContext;
    expect(context).toContain('output: <promise>OK</promise>');
    expect(context).toMatch(/The task:\nFix \$\(touch oops\) `it`\s*$/);
    expect(readState(SESSION)).toMatchObject({ iteration: 1, maxIterations: 7, workdir: cwd });
    expect(existsSync(join(cwd, 'oops'))).toBe(false);
  });

  it('S5.61 starts a loop without a task too', async () => {
    await types('$ralph --max-iterations=3');
    expect(readState(SESSION)).toMatchObject({ prompt: 'Complete the task as instructed', maxIterations: 3 });
  });

  it('gets no answer if it is for the agent', async () => {
    expect(await types('Please run /ralph')).toBeNull();
    expect(await types('/ralph "task"', { agent_id: 'a1' })).toBeNull();
    expect(readState(SESSION)).toBeNull();
  });

  it('S5.45 cancels the loop and does not reach the model', async () => {
    await types('$ralph task');
    const { loop = '' } = readState(SESSION) ?? {};
    expect(await types('$cancel-ralph')).toEqual({
      decision: 'block',
      reason: 'Ralph loop cancelled at iteration 1.',
    });
    expect(readLoopOf(loop)?.state.outcome).toMatchObject({ type: 'stopped', by: 'person' });
    expect(await types('$cancel-ralph')).toEqual({
      decision: 'block',
      reason: 'No Ralph loop is running in this session.',
    });
  });

  it('shows the loop', async () => {
    await types('$ralph task --max-iterations=3');
    expect((await types('$ralph:ralph-status'))?.reason).toMatch(/^Ralph loop .*iteration 1 of 3\n/);
  });

  it('in the middle of a turn does not end that turn', async () => {
    await types('$ralph task');
    const status = await typesMeanwhile('/ralph-status');
    expect(status?.decision).toBeUndefined();
    expect(status?.systemMessage).toMatch(/^Ralph loop /);
    const cancelled = await typesMeanwhile('/cancel-ralph');
    expect(cancelled).toMatchObject({ systemMessage: 'Ralph loop cancelled at iteration 1.' });
    expect(cancelled?.hookSpecificOutput?.additionalContext).toContain('was for Ralph');
    expect(readState(SESSION)).toBeNull();
  });

  it('is blocked with the reason if no loop can start', async () => {
    const refused = await types('/ralph task --max-iterations=many');
    expect(refused).toMatchObject({ decision: 'block' });
    expect(refused?.reason).toMatch(/^Ralph did not start a loop: --max-iterations must be .*many/);
    vi.stubEnv('RALPH_TRUST', '');
    mkdirSync(join(cwd, '.ralph'));
    writeFileSync(join(cwd, '.ralph', 'settings.json'), '{"checks":[{"command":"true"}]}');
    expect((await types('/ralph task'))?.reason).toMatch(/not trusted yet/);
    expect(readState(SESSION)).toBeNull();
  });
});

describe('the end of a turn of Codex', () => {
  it('S5.1 continues the session until the promise', async () => {
    await types('/ralph "Fix it"');
    const next = await hears('stop-1', 12);
    expect(next).toMatchObject({ decision: 'block' });
    expect(next?.reason).toMatch(/^\[RALPH LOOP - ITERATION 2\/100\]\n/);
    expect(next?.systemMessage).toBe('Ralph loop: iteration 2 of 100');
    const done = await hears('stop-2', 23);
    expect(done?.systemMessage).toMatch(/^Ralph loop .* ended after 2 iterations/);
    expect(done?.decision).toBeUndefined();
    expect(readState(SESSION)).toBeNull();
  });

  it('rejects a promise while a check fails, with its output in the next prompt', async () => {
    await types('/ralph "Fix it" --check "echo broken thing; test -e fixed"');
    const rejected = await hears('stop-2', 23);
    expect(rejected?.reason).toContain('broken thing');
    expect(rejected?.systemMessage).toContain('the promise was rejected');
  });

  it('S5.35 gets no answer in a session without a loop, also in the same folder, and for a subagent', async () => {
    await types('/ralph "Fix it"');
    const state = readState(SESSION);
    expect(await hears('stop-2', 23, { session_id: 'another' })).toBeNull();
    expect(await hears('stop-2', 23, { agent_id: 'a1' })).toBeNull();
    expect(readState(SESSION)).toEqual(state);
  });

  it('gives checks no variables of the plugin', async () => {
    await types(`/ralph "Fix it" --check "env > '${join(root, 'env')}'"`);
    await hears('stop-2', 23);
    const env = readFileSync(join(root, 'env'), 'utf8');
    expect(env).toMatch(/^PATH=/m);
    expect(env).not.toMatch(/^PLUGIN_ROOT=/m);
  });

  it('lets the session go with a message if the step fails', async () => {
    await types('/ralph "Fix it"');
    const { loop = '' } = readState(SESSION) ?? {};
    writeFileSync(join(root, 'state', 'loops', loop, 'journal.jsonl'), 'nonsense\n');
    const answer = await hears('stop-1', 12);
    expect(Object.keys(answer ?? {})).toEqual(['systemMessage']);
    expect(answer?.systemMessage).toMatch(/^Ralph: ./);
  });
});

describe('other events of Codex', () => {
  it('S5.31 an interrupt cancels the loop, so that a new one works at once', async () => {
    expect(await hears('stop-1', 12, { hook_event_name: 'Interrupt' })).toBeNull();
    await types('/ralph "Fix it"');
    expect(await hears('stop-1', 7, { hook_event_name: 'Interrupt' })).toEqual({
      systemMessage: 'Ralph loop cancelled at iteration 1.',
    });
    expect(await hears('stop-1', 12)).toBeNull();
    expect((await types('/ralph "Again"'))?.systemMessage).toContain('Ralph loop started');
  });

  it.each([null, [[]], 'Stop', { hook_event_name: 'Stop' }, { hook_event_name: 'Stop', session_id: '../x' }])(
    'input %j gets no answer',
    async (input) => {
      expect(await codexHook(input, {})).toBeNull();
    },
  );

  it('an unknown event gets no answer', async () => {
    expect(await hears('stop-1', 12, { hook_event_name: 'SubagentStop' })).toBeNull();
  });
});
