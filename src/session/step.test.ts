import { beforeEach, describe, expect, it } from 'vitest';
import { openSessionPlace } from '../../test/rig/session-place.ts';
import { takeStep } from './step.ts';

let workspace: string;
beforeEach(() => {
  ({ workspace } = openSessionPlace());
});

const step = (input: unknown): Promise<object> => takeStep(input, process.env);
const START = {
  type: 'start',
  session: 'ses_1',
  program: 'opencode',
  asked: { prompt: 'Fix $& it', checks: [], maxIterations: 3 },
};

describe('a step', () => {
  it('S5.1 starts a loop, continues it, and says how it ended', async () => {
    expect(await step({ ...START, workspace })).toMatchObject({
      type: 'started',
      state: { iteration: 1, maxIterations: 3, sessionId: 'ses_1' },
    });
    const said = (text: string) => ({ messages: [{ role: 'assistant', text }], steps: 2, costUsd: 0.5 });
    expect(await step({ type: 'turn', session: 'ses_1', turn: said('not yet') })).toMatchObject({
      type: 'continue',
      state: { iteration: 2 },
    });
    expect(await step({ type: 'status', session: 'ses_1' })).toMatchObject({
      type: 'status',
      state: { prompt: 'Fix $& it', iteration: 2 },
    });
    expect(
      await step({ type: 'turn', session: 'ses_1', turn: said('<promise>DONE</promise>') }),
    ).toMatchObject({ type: 'ended', outcome: 'done' });
    expect(await step({ type: 'status', session: 'ses_1' })).toEqual({ type: 'none' });
  });

  it('S5.26 S5.27 cancels the loop of its session and of no other', async () => {
    await step({ ...START, workspace });
    expect(await step({ type: 'cancel', session: 'ses_2' })).toEqual({ type: 'none' });
    expect(await step({ type: 'cancel', session: 'ses_1' })).toMatchObject({
      type: 'cancelled',
      state: { sessionId: 'ses_1', iteration: 1 },
    });
    expect(await step({ type: 'cancel', session: 'ses_1' })).toEqual({ type: 'none' });
  });

  it('pauses at a usage limit', async () => {
    await step({ ...START, workspace });
    const error = { message: 'usage limit', limit: { resetsAt: Date.now() + 3_600_000 } };
    expect(await step({ type: 'turn', session: 'ses_1', turn: { messages: [], error } })).toMatchObject({
      type: 'waiting',
    });
  });

  it.each([
    [null, 'type must be one of start, turn, begin, look, cancel, status'],
    [{ type: 'stop', session: 's' }, 'type must be one of'],
    [{ type: 'status', session: '../x' }, 'session must be'],
    [{ type: 'status', session: 's', extra: 1 }, 'unknown field extra'],
    [{ ...START, workspace: 'relative' }, 'workspace must be an absolute path'],
    [{ ...START, workspace: '/', program: 'rm -rf /' }, 'program must be'],
    [{ ...START, workspace: '/', asked: { prompt: ' ', checks: [] } }, 'asked.prompt must be'],
    [{ ...START, workspace: '/', asked: { prompt: 'x', checks: [], maxIteration: 3 } }, 'unknown field'],
    [{ type: 'turn', session: 's', turn: { messages: [{ role: 'system', text: '' }] } }, 'role must be'],
    [{ type: 'turn', session: 's', turn: { messages: [], costUsd: -1 } }, 'turn.costUsd must be'],
    [{ type: 'turn', session: 's', turn: { messages: [], error: { message: '' } } }, 'turn.error.message'],
  ])('rejects %j', async (input, message) => {
    await expect(step(input)).rejects.toThrow(message);
  });
});
