import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CONTINUATION_PROMPT_TEMPLATE } from './constants.ts';
import {
  buildContinuationPrompt,
  detectCompletionPromise,
  detectInMessages,
  detectInTranscript,
} from './detector.ts';
import type { HookMessage } from './types.ts';
import type { RalphLoopState } from '../session-file.ts';

const TAG = '<promise>DONE</promise>';

describe('detectCompletionPromise', () => {
  it.each([TAG, `ok ${TAG} bye`, '<PROMISE>\n done \n</promise>', '<promise>\t DONE</promise>'])(
    'S5.13 S5.47 finds the promise in any case with any white space: %j',
    (text) => {
      expect(detectCompletionPromise(text, 'DONE')).toBe(true);
    },
  );

  it.each(['', 'DONE', '<promise>nearly DONE</promise>', '<promise>DO NE</promise>', '<promise>DONE'])(
    'S5.13 finds nothing in %j',
    (text) => {
      expect(detectCompletionPromise(text, 'DONE')).toBe(false);
    },
  );

  it('S5.14 S5.47 takes a custom promise literally', () => {
    const odd = '.*+?^${}()|[]\\';
    expect(detectCompletionPromise(`<promise>${odd}</promise>`, odd)).toBe(true);
    expect(detectCompletionPromise('<promise>axb</promise>', 'a.b')).toBe(false);
    expect(detectCompletionPromise('<promise>ALL TESTS PASS</promise>', 'ALL TESTS PASS')).toBe(true);
  });

  it('S5.60 requires the last line, outside of code fences, if it is strict', () => {
    const strictly = (text: string): boolean => detectCompletionPromise(text, 'DONE', { strict: true });
    expect([strictly(`Fine.\n${TAG}\n\n`), strictly(TAG)]).toEqual([true, true]);
    expect([strictly(`${TAG}\nbut`), strictly(`not ${TAG}`), strictly(`\`\`\`\n${TAG}\n\`\`\``)]).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe('detectInMessages', () => {
  it('S5.16 reads the messages of the assistant', async () => {
    expect(await detectInMessages([{ role: 'assistant', content: TAG }, { role: 'user' }], 'DONE')).toBe(
      true,
    );
    expect(await detectInMessages([{ role: 'user', content: TAG }, { content: TAG }], 'DONE')).toBe(false);
    expect(await detectInMessages([{ role: 'assistant' }], 'DONE')).toBe(false);
    expect(await detectInMessages([], 'DONE')).toBe(false);
  });

  it('S5.16 begins with the newest and ends at the first hit', async () => {
    const read: string[] = [];
    const message = (name: string, text: string): HookMessage => ({
      role: 'assistant',
      get content() {
        if (read.at(-1) !== name) read.push(name);
        return text;
      },
    });
    const messages = [message('first', TAG), message('second', TAG), message('third', 'Hello.')];
    expect(await detectInMessages(messages, 'DONE')).toBe(true);
    expect(read).toEqual(['third', 'second']);
  });
});

describe('detectInTranscript', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ralph-transcript-'));
    path = join(folder, 'transcript.jsonl');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const finds = (...entries: readonly object[]): boolean => {
    writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    return detectInTranscript(path, 'DONE');
  };

  it('S5.15 is false without a path, without the file and on any error', () => {
    symlinkSync('/dev/zero', join(folder, 'link'));
    for (const none of [undefined, '', path, folder, join(folder, 'link')])
      expect(detectInTranscript(none, 'DONE')).toBe(false);
  });

  it('S5.15 finds the promise in a file of plain text', () => {
    writeFileSync(path, `I am ready.\n${TAG}\n`);
    expect(detectInTranscript(path, 'DONE')).toBe(true);
    expect(detectInTranscript(path, 'OTHER')).toBe(false);
    writeFileSync(path, '');
    expect(detectInTranscript(path, 'DONE')).toBe(false);
  });

  it.each([
    { type: 'assistant', content: TAG },
    { role: 'assistant', content: TAG },
    { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text: TAG }] } },
    { type: 'tool_result', tool_output: { output: TAG } },
    { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', content: TAG }] } },
  ])('S5.59 counts what the assistant said and what a tool printed: %j', (entry) => {
    expect(finds({ type: 'user', content: 'Go' }, entry, { type: 'user', content: 'Thanks' })).toBe(true);
  });

  it.each([
    { type: 'user', content: TAG },
    { type: 'user', message: { role: 'user', content: [{ type: 'text', text: TAG }] } },
    { type: 'reasoning', content: TAG },
    { type: 'assistant', message: { content: [{ type: 'thinking', thinking: TAG }] } },
    { type: 'assistant', message: { content: [{ type: 'tool_use', input: { command: TAG } }] } },
    { type: 'system', content: TAG },
    { content: TAG },
  ])('S5.59 does not count what people said or the agent thought: %j', (entry) => {
    expect(finds(entry, { type: 'assistant', content: 'Hello.' })).toBe(false);
  });

  it('skips a line that is still being written', () => {
    writeFileSync(path, `{"type":"assistant","content":"a"}\n{"type":"user","content":"${TAG}`);
    expect(detectInTranscript(path, 'DONE')).toBe(false);
  });
});

describe('buildContinuationPrompt', () => {
  const state: RalphLoopState = {
    active: true,
    iteration: 2,
    maxIterations: 25,
    completionPromise: '$& $$',
    startedAt: '2026-01-02T03:04:05.678Z',
    prompt: "costs $$5, $& $` $' and {{MAX}}",
    sessionId: 's1',
  };

  it('S5.17 fills in iteration, maximum, promise and prompt, each once', () => {
    expect(buildContinuationPrompt('{{ITERATION}}/{{MAX}} {{MAX}} {{ITERATION}}', state)).toBe(
      '2/25 {{MAX}} {{ITERATION}}',
    );
    expect(buildContinuationPrompt('{{PROMPT}}|{{PROMISE}}|{{PROMPT}}', state)).toBe(
      `${state.prompt}|$& $$|{{PROMPT}}`,
    );
  });

  it('S5.7 S5.49 inserts prompt and promise literally into the template of the document', () => {
    const text = buildContinuationPrompt(CONTINUATION_PROMPT_TEMPLATE, state);
    expect(text).toMatch(/^\[RALPH LOOP - ITERATION 2\/25\]\n\nYour previous attempt did not output/);
    expect(text).toContain('\n- When FULLY complete, output: <promise>$& $$</promise>\n');
    expect(text.endsWith(`\nOriginal task:\n${state.prompt}`)).toBe(true);
  });
});
