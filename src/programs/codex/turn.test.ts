import { appendFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordedInput, recordedRollout } from '../../../test/rig/codex-session.ts';
import { finishedTurn, isDuringTurn } from './turn.ts';
import { hookInput, type HookInput } from '../hook-input.ts';
import type { FinishedTurn } from '../../session/turn.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-codex-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function event(name: string, fields: Readonly<Record<string, unknown>>): HookInput {
  const input = hookInput(recordedInput(name, fields));
  if (input === null) throw new Error(`${name} is no event`);
  return input;
}

function turnAt(name: string, lines: number, loopStart = 0): FinishedTurn {
  return finishedTurn(event(name, { transcript_path: recordedRollout(folder, lines) }), loopStart);
}

const saidIn = ({ messages }: FinishedTurn): readonly string[] =>
  messages.map(
    ({ role, text }) => `${role}: ${text.split('\n').at(-1) === '' ? text.split('\n').at(-2) : text}`,
  );

const ANSWER = { input: 1000, output: 30, cacheRead: 200, cacheWrite: 0 };
const TWO_ANSWERS = { input: 2000, output: 60, cacheRead: 400, cacheWrite: 0 };

describe('a turn of Codex', () => {
  it('has the messages, tool calls, tokens and model since its prompt', () => {
    const turn = turnAt('stop-1', 12);
    expect(saidIn(turn)).toEqual(['tool: one', 'assistant: I have begun.']);
    expect(turn).toMatchObject({ steps: 1, tokens: TWO_ANSWERS, model: 'gpt-5.5' });
    expect(turn.error).toBeUndefined();
  });

  it('begins at the last prompt of a hook, and has the tag of the promise as the agent means it', () => {
    const turn = turnAt('stop-2', 23);
    expect(saidIn(turn)).toEqual(['tool: two', 'assistant: All done. <promise>DONE</promise>']);
    expect(turn).toMatchObject({ steps: 1, tokens: TWO_ANSWERS });
  });

  it('has the tokens of a turn that an error ended, and not its messages', () => {
    const turn = turnAt('stop-after-error', 41);
    expect(saidIn(turn)).toEqual(['assistant: I am back.']);
    expect(turn).toMatchObject({ steps: 0, tokens: TWO_ANSWERS });
  });

  it('S5.50 has nothing from before the start of the loop', () => {
    const turn = turnAt('stop-after-error', 41, Date.parse('2026-11-16T17:53:07Z'));
    expect(turn.tokens).toEqual(ANSWER);
    const later = turnAt('stop-1', 12, Date.parse('2026-11-16T17:53:03.970Z'));
    expect(saidIn(later)).toEqual(['assistant: I have begun.']);
    expect(later).toMatchObject({ steps: 0, tokens: ANSWER });
  });

  it('has the last message of the event if the session file has none or cannot be read', () => {
    const unread = turnAt('stop-1', 8);
    expect(saidIn(unread)).toEqual(['tool: one', 'assistant: I have begun.']);
    const path = recordedRollout(folder, 12);
    const link = join(folder, 'link');
    symlinkSync(path, link);
    for (const transcript_path of [null, link, folder, join(folder, 'missing')]) {
      const turn = finishedTurn(event('stop-1', { transcript_path }), 0);
      expect(turn).toMatchObject({ messages: [{ role: 'assistant', text: 'I have begun.' }], steps: 0 });
      expect(turn.tokens).toBeUndefined();
    }
  });

  it('says nothing if the agent has said nothing', () => {
    const turn = finishedTurn(event('stop-1', { transcript_path: null, last_assistant_message: null }), 0);
    expect(turn.messages).toEqual([]);
  });

  it('ignores lines that are no entries', () => {
    const path = recordedRollout(folder, 12);
    appendFileSync(
      path,
      'nonsense\n{"type":"response_item"}\n[]\n{"type":"response_item","payload":{"type":"mess',
    );
    expect(saidIn(finishedTurn(event('stop-1', { transcript_path: path }), 0))).toHaveLength(2);
  });

  it('takes what people and tools say for what it is', () => {
    const path = join(folder, 'rollout.jsonl');
    const entries = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'typed' }] },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'told' }] },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'thought' }] },
      { type: 'custom_tool_call', name: 'apply_patch', input: '' },
      { type: 'custom_tool_call_output', output: [{ type: 'input_text', text: '&lt;promise&gt;' }] },
      { type: 'web_search_call' },
    ].map((payload) => JSON.stringify({ timestamp: '2026-11-16T17:53:04Z', type: 'response_item', payload }));
    writeFileSync(path, entries.join('\n'));
    const fields = { transcript_path: path, last_assistant_message: null };
    const turn = finishedTurn(event('stop-1', fields), 0);
    expect(saidIn(turn)).toEqual(['reasoning: thought', 'tool: &lt;promise&gt;']);
    expect(turn.steps).toBe(2);
  });
});

describe('a message to Codex', () => {
  const isDuring = (name: string, lines: number): boolean =>
    isDuringTurn(event(name, { transcript_path: recordedRollout(folder, lines) }));

  it('is part of a running turn if the person has typed it after the prompt of that turn', () => {
    expect([7, 12, 19].map((lines) => isDuring('prompt', lines))).toEqual([true, true, true]);
  });

  it('is a new prompt otherwise', () => {
    expect([
      isDuring('prompt', 1),
      isDuring('prompt-after-error', 34),
      isDuring('prompt-after-error', 35),
    ]).toEqual([false, false, false]);
    expect(isDuringTurn(event('prompt', { transcript_path: null }))).toBe(false);
  });
});
