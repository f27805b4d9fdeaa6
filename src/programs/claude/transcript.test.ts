import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readSubagents, readTurn, transcriptEnd } from './transcript.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-transcript-'));
  path = join(folder, 'session.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function recorded(name: string): string {
  return fileURLToPath(new URL(`../../../test/fixtures/session/claude/${name}.jsonl`, import.meta.url));
}

function prompt(content: unknown, more: object = {}): object {
  return { type: 'user', isSidechain: false, message: { role: 'user', content }, ...more };
}

function answer(id: string, content: unknown, more: object = {}): object {
  const usage = {
    input_tokens: 10,
    output_tokens: 3,
    cache_read_input_tokens: 2,
    cache_creation_input_tokens: 1,
  };
  return {
    type: 'assistant',
    isSidechain: false,
    message: { id, model: 'claude-x', content, usage },
    ...more,
  };
}

function says(text: string): readonly object[] {
  return [{ type: 'text', text }];
}

function append(...entries: readonly object[]): void {
  appendFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
}

it('reads the messages, tool calls and tokens of a recorded session, each message once', () => {
  expect(readTurn(recorded('transcript-with-tools'), 0)).toMatchObject({
    messages: ['m2', 'm3', 'm4', 'm5', 'm6'].map((text) => ({ role: 'assistant', text })),
    toolCalls: 2,
    tokens: { input: 7000, output: 210, cacheRead: 1400, cacheWrite: 0 },
    model: 'claude-sonnet-4-5',
    queued: [],
  });
});

it('takes no text and no tokens from an error of the API', () => {
  expect(readTurn(recorded('transcript-with-api-error'), 0)).toMatchObject({
    messages: [],
    tokens: null,
    model: null,
  });
});

it('reports a command that a person has typed during the turn, until it is taken from the queue', () => {
  expect(readTurn(recorded('transcript-with-queue'), 0)?.queued).toEqual(['/cancel-ralph']);
  writeFileSync(path, readFileSync(recorded('transcript-with-queue')));
  append({ type: 'queue-operation', operation: 'enqueue', content: 'and this' });
  append({ type: 'queue-operation', operation: 'remove', content: 'and this' });
  expect(readTurn(path, 0)?.queued).toEqual(['/cancel-ralph']);
  append({ type: 'queue-operation', operation: 'dequeue' });
  expect(readTurn(path, 0)?.queued).toEqual([]);
  append({ type: 'queue-operation', operation: 'enqueue', content: '/compact' });
  append({ type: 'queue-operation', operation: 'popAll' });
  expect(readTurn(path, 0)?.queued).toEqual([]);
});

it('S5.50 counts tokens that were written late, but not their text: it belongs to the turn before', () => {
  append(prompt('one'), answer('m1', says('first')));
  const offset = transcriptEnd(path);
  append(
    answer('m2', says('<promise>DONE</promise>')),
    prompt('Stop hook feedback:\ngo on', { isMeta: true }),
  );
  append(answer('m3', says('second')));
  expect(readTurn(path, offset)).toMatchObject({
    messages: [{ role: 'assistant', text: 'second' }],
    tokens: { input: 20, output: 6, cacheRead: 4, cacheWrite: 2 },
  });
});

it('S5.59 takes only text of the main conversation as what the agent says', () => {
  append(prompt('go'));
  append(answer('m1', [{ type: 'thinking', thinking: 'hmm' }]));
  append(answer('m1', [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }]));
  append(prompt([{ type: 'tool_result', tool_use_id: 't', content: '<promise>DONE</promise>' }]));
  append(answer('s1', says('<promise>DONE</promise>'), { isSidechain: true }));
  append(answer('m2', says('not yet')));
  expect(readTurn(path, 0)).toMatchObject({
    messages: [
      { role: 'reasoning', text: 'hmm' },
      { role: 'assistant', text: 'not yet' },
    ],
    toolCalls: 1,
    // The subagent costs money too.
    tokens: { input: 30, output: 9, cacheRead: 6, cacheWrite: 3 },
  });
});

it('reads whole lines only, and leaves the rest for the next time', () => {
  append(prompt('go'), answer('m1', says('whole')));
  const end = transcriptEnd(path);
  appendFileSync(path, '{"type":"assistant","mess');
  expect(transcriptEnd(path)).toBe(end);
  expect(readTurn(path, 0)).toMatchObject({ end, messages: [{ text: 'whole' }] });
});

it('does not trust an offset that is no beginning of a line, or that is behind the end', () => {
  append(prompt('go'), answer('m1', says('one')));
  expect(readTurn(path, 5)).toBeNull();
  expect(readTurn(path, 100_000)).toBeNull();
});

it('skips lines that are no JSON and entries of unknown shapes', () => {
  appendFileSync(path, 'no json\n[]\nnull\n{"type":"assistant","message":7}\n{"type":"user"}\n');
  append(
    prompt('go'),
    answer('m1', 'a string'),
    answer('m2', [null, 7, { type: 'text' }, { type: 'text', text: 'ok' }]),
  );
  expect(readTurn(path, 0)?.messages.filter(({ text }) => text !== '')).toEqual([
    { role: 'assistant', text: 'ok' },
  ]);
});

it('reads no transcript that is missing or a symbolic link', () => {
  expect(readTurn(path, 0)).toBeNull();
  symlinkSync(recorded('transcript-with-tools'), path);
  expect(readTurn(path, 0)).toBeNull();
  expect(transcriptEnd(path)).toBe(0);
});

it('counts what subagents use, each part once', () => {
  const subagents = join(folder, 'session', 'subagents');
  mkdirSync(subagents, { recursive: true });
  const line = (id: string): string =>
    `${JSON.stringify(answer(id, says('<promise>DONE</promise>'), { isSidechain: true }))}\n`;
  writeFileSync(join(subagents, 'agent-a1.jsonl'), line('m1'));
  writeFileSync(join(subagents, 'notes.jsonl'), line('m2'));
  const first = readSubagents(path, {});
  expect(first.tokens).toMatchObject({ input: 10 });
  appendFileSync(join(subagents, 'agent-a1.jsonl'), line('m3'));
  writeFileSync(join(subagents, 'agent-b2.jsonl'), line('m4'));
  const second = readSubagents(path, first.offsets);
  expect(second.tokens).toMatchObject({ input: 20 });
  expect(readSubagents(path, second.offsets).tokens).toBeNull();
});
