/** What the real opencode 1.18.33 has said; test/fixtures/session/opencode. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hookError, hookMessages, promptSettings, subagentCalls, usageBetween } from './messages.ts';
import { finishedTurn, newMessages } from '../../session/hook/messages.ts';

function recorded(name: string): unknown[] {
  const url = new URL(`../../../test/fixtures/session/opencode/${name}.json`, import.meta.url);
  const value: unknown = JSON.parse(readFileSync(url, 'utf8'));
  if (!Array.isArray(value)) throw new Error(`${name}.json is not a list`);
  return value;
}

const MESSAGES = recorded('messages');
/** The person's prompt, three answers with a tool and a subagent, a note for the person, and a compaction. */
const FIRST_TURN = MESSAGES.slice(0, 4);

describe('the messages of opencode', () => {
  it('S5.59 take only what the agent wrote itself for an answer: no reasoning, tool, subagent or summary', () => {
    const said = hookMessages(MESSAGES);
    expect(said.filter(({ role }) => role === 'assistant').map(({ content }) => content)).toEqual([
      'main after sub <promise>DONE</promise>',
      'after compaction',
    ]);
    expect(said.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'hello',
      'hang',
      'err',
    ]);
    const tools = said.flatMap(({ role, content = '' }) => (role === 'tool' ? [content] : []));
    expect(tools).toEqual(['bash: hi\n', expect.stringMatching(/^task: <task id=.*sub answer/s)]);
  });

  it('S5.50 only grow while a session goes on, so that the messages of an earlier turn can be counted', () => {
    const lengths = MESSAGES.map((_, index) => hookMessages(MESSAGES.slice(0, index + 1)).length);
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    const seen = hookMessages(FIRST_TURN).length;
    const later = finishedTurn(newMessages(hookMessages(MESSAGES), seen));
    expect(later.messages.filter(({ role }) => role === 'assistant')).toEqual([
      { role: 'assistant', text: 'after compaction' },
    ]);
  });

  it('report tokens and cost, with those of subagents', () => {
    const [call, ...others] = subagentCalls(FIRST_TURN);
    if (call === undefined) throw new Error('there is no subagent');
    expect(others).toEqual([]);
    const spent = usageBetween(recorded('subagent-messages'), call);
    expect(spent).toEqual({
      tokens: { input: 1000, output: 30, cacheRead: 200, cacheWrite: 0 },
      costUsd: 0.003_65,
    });
    expect(usageBetween(recorded('subagent-messages'), { startedAt: 0, endedAt: 1 }).costUsd).toBe(0);
    const { tokens, costUsd, steps, model } = finishedTurn(
      hookMessages(FIRST_TURN, ({ id }) => (id === call.id ? spent : null)),
    );
    expect({ tokens, steps, model }).toEqual({
      tokens: { input: 4000, output: 120, cacheRead: 800, cacheWrite: 0 },
      steps: 2,
      model: 'scripted',
    });
    expect(costUsd).toBeCloseTo(4 * 0.003_65);
  });

  it('leave the cost open if opencode does not know the price', () => {
    const info = { role: 'assistant', cost: 0, tokens: { input: 5 } };
    expect(finishedTurn(hookMessages([{ info, parts: [] }])).costUsd).toBeUndefined();
  });

  it('name the agent and the model for the next prompt', () => {
    expect(promptSettings(MESSAGES)).toEqual({
      agent: 'build',
      model: { providerID: 'ours', modelID: 'scripted' },
    });
    const info = { role: 'user', agent: 'plan', model: { providerID: 'p', modelID: 'm', variant: 'high' } };
    expect(promptSettings([{ info }])).toMatchObject({ agent: 'plan', variant: 'high' });
  });

  it.each([null, 'x', [null], [{ info: { role: 'user' } }], [{ parts: [{ type: 'text', text: 'x' }] }]])(
    'are none in %j',
    (value) => {
      expect(hookMessages(value)).toEqual([]);
      expect(promptSettings(value)).toEqual({});
    },
  );
});

describe('an error of opencode', () => {
  it('names its kind', () => {
    expect(hookError({ name: 'MessageAbortedError', data: { message: 'Aborted' } }, 0)).toEqual({
      name: 'MessageAbortedError',
      message: 'Aborted',
    });
    expect(hookError(undefined, 0)).toMatchObject({ name: '' });
  });

  it('tells a usage limit and its reset from other errors', () => {
    const error = { type: 'usage_limit_reached', message: 'The usage limit has been reached', resets_at: 50 };
    const data = { message: error.message, statusCode: 429, responseBody: JSON.stringify({ error }) };
    expect(hookError({ name: 'APIError', data }, 0)).toMatchObject({ limit: { resetsAt: 50_000 } });
    const wrongKey = { message: 'Incorrect API key provided', statusCode: 401 };
    expect(hookError({ name: 'APIError', data: wrongKey }, 0)).not.toHaveProperty('limit');
  });
});
