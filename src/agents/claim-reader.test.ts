import * as fc from 'fast-check';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Detector } from '../loop/completion.ts';
import { presets } from '../loop/presets.ts';
import { searchInTime } from '../owner/pattern-search.ts';
import type { Agent } from './agent.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { custom } from './custom.ts';
import { readRun, type RunReader } from './reader.ts';
import { scripted } from './scripted.ts';

const source = { scope: 'assistant-text', phase: 'after', history: 'loop' } as const;
const pattern = (expression: string): Detector => ({ kind: 'pattern', pattern: expression, ...source });
const TASKS = [pattern('All tasks complete')];
const RESPONSE = presets['ralph-cli'].policy.completion.detectors;

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'ralph-claims-'));
});
afterAll(() => rmSync(home, { recursive: true }));

const readerOf = (agent: Agent, detectors: readonly Detector[], prompt: string): RunReader => {
  const folder = mkdtempSync(join(home, 'run-'));
  writeFileSync(join(folder, 'prompt.md'), prompt);
  const context = {
    startedAt: 0,
    workspaceFolder: '/nowhere',
    argv: ['agent'],
    env: () => ({}),
    session: null,
  };
  const facts = {
    ...context,
    folder,
    shown: { offset: 0 },
    price: () => null,
    hide: (text: string) => text,
    search: searchInTime,
  };
  return readRun(agent, detectors, facts, () => {});
};

const claimIn = (
  output: string | readonly string[],
  prompt = '',
  detectors: readonly Detector[] = TASKS,
  agent: Agent = custom,
): string | null => {
  const reader = readerOf(agent, detectors, prompt);
  for (const piece of [output].flat()) reader.read(Buffer.from(piece));
  reader.end();
  return reader.snapshot(true).claim?.text ?? null;
};

describe('an echo of the prompt', () => {
  const LINE = 'Do the next task, and print “All tasks complete” when none is left.';
  const PROMPT = `# Task\n\n${LINE}\n- commit\n`;
  const SHORT = `# Task\nWork through the list in PLAN.md.\nAt the end print:\n\nAll tasks complete\n`;

  it.each([
    ['a word', `received: ${LINE}`],
    ['a time and a level', `2026-01-01T10:00:00 [INFO] prompt="${LINE}"`],
    ['a bullet', `* ${LINE}`],
    ['a list number', `1. ${LINE}`],
    ['nothing', LINE],
    ['a colour', `\u001B[1;36mTask\u001B[0m → \u001B[2m${LINE}\u001B[0m`],
  ])('S4.44 is no claim, whatever label stands before it: %s', (_, echo) => {
    expect(claimIn(`# Task\n${echo}\nworking\n`, PROMPT)).toBeNull();
    expect(claimIn(echo, PROMPT)).toBeNull();
    expect(claimIn(`${echo}\nAll tasks complete\n`, PROMPT)).toBe('All tasks complete');
  });

  it('S4.44 is no claim if every line has its label, and the line of the claim nothing else', () => {
    const echo = SHORT.trimEnd().replaceAll(/^(?=.)/gm, '[10:00:00] in: ');
    expect(claimIn(`start\n${echo}\nworking\n`, SHORT)).toBeNull();
    expect(claimIn(`received: ${SHORT}working\n`, SHORT)).toBeNull();
    expect(claimIn(`received: ${SHORT.trimEnd()} ok\nAll tasks complete`, SHORT)).toBe('All tasks complete');
  });

  it('S4.44 is no claim in a JSON string, but a claim beside it is one', () => {
    for (const prompt of [PROMPT, SHORT, 'Say All tasks complete']) {
      const record = { role: 'user', content: `You are an agent.\n\n${prompt}` };
      expect(claimIn(`${JSON.stringify(record)}\n`, prompt)).toBeNull();
      expect(claimIn(`log: ${JSON.stringify({ body: JSON.stringify(record) })}\n`, prompt)).toBeNull();
      const answered = JSON.stringify({ ...record, answer: 'All tasks complete' });
      expect(claimIn(`${answered}\n`, prompt)).toBe('All tasks complete');
    }
    const ascii = JSON.stringify(PROMPT).replaceAll(
      /[^ -~]/g,
      (one) => `\\u${one.charCodeAt(0).toString(16)}`,
    );
    expect(claimIn(`{"prompt": ${ascii}}`, PROMPT)).toBeNull();
  });

  it('is a claim if the agent may have been told to print the line: it is less than 20 characters longer', () => {
    const prompt = 'Work.\n\nAt the end print:\nStatus: All tasks complete.\n';
    expect(claimIn('Status: All tasks complete.\n', prompt)).toBe('All tasks complete');
    expect(
      claimIn('Work. I have done it.\nAll tasks complete\n', 'Work.\nAll tasks complete\n'),
    ).not.toBeNull();
    expect(claimIn('All tasks complete\n', PROMPT)).not.toBeNull();
  });

  it('is removed with the end of a tag, so that a claim on the next line is one', () => {
    const prompt = 'Work.\n\nWhen everything is done, answer <response>DONE</response>\n';
    const own = RESPONSE.map((detector) => ({ ...detector, placement: 'own-line' as const }));
    const echo = 'When everything is done,\n  answer <response>DONE</response>\n';
    expect(claimIn(echo, prompt, own)).toBeNull();
    expect(claimIn(`in: ${prompt}<response>DONE</response>\n`, prompt, own)).not.toBeNull();
  });

  it('is looked for in time that grows like the length of the output', () => {
    const prompt = `Work.\n${'> | '.repeat(20)}say All tasks complete when you are done${' |'.repeat(20)}\n`;
    expect(claimIn(`${'> | '.repeat(20_000)}\nAll tasks complete\n`, prompt)).toBe('All tasks complete');
  });

  it('S4.44 is no claim on stderr', () => {
    const claims = (text: string): boolean => {
      const reader = readerOf(
        custom,
        RESPONSE,
        `When everything is done, answer <response>DONE</response>\n`,
      );
      reader.readStderr(Buffer.from(text));
      reader.end();
      return reader.snapshot(true).claim !== null;
    };
    const echo = 'in: When everything is done, answer <response>DONE</response>\n';
    expect([claims(echo), claims(`${echo}<response>DONE</response>`)]).toEqual([false, true]);
  });

  it('is no claim on a screen that breaks its lines', () => {
    const onScreen = [{ ...pattern('All tasks complete'), scope: 'screen', phase: 'continuous' }] as const;
    const reader = readerOf(custom, onScreen, PROMPT);
    const echo = LINE.replace('next', '\n  next').replace('print', '\n  print');
    expect(reader.readScreen(`● Human said ${echo}`)).toBe(false);
    expect(reader.readScreen(`● Human said ${echo}\n\n● All tasks complete`)).toBe(true);
  });

  describe.each([
    [
      'claude',
      claude,
      (text: string) => ({ type: 'assistant', message: { id: 'm', content: [{ type: 'text', text }] } }),
      (result: string) => ({ type: 'result', subtype: 'success', result }),
    ],
    [
      'codex',
      codex,
      (text: string) => ({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text } }),
      () => ({ type: 'turn.completed' }),
    ],
  ] as const)('of %s', (_, agent, says, ends) => {
    const claims = (text: string, prompt: string, detectors: readonly Detector[]): boolean =>
      claimIn(`${JSON.stringify(says(text))}\n${JSON.stringify(ends(text))}\n`, prompt, detectors, agent) !==
      null;

    it('S2.50 S4.44 is no claim in a message or the answer', () => {
      const tagged = 'Do it.\n\nWhen everything is done, answer with <response>DONE</response>.\n';
      expect(
        claims(`I was told:\n\n> ${tagged.trim().replaceAll('\n', '\n> ')}\n\nNot yet.`, tagged, RESPONSE),
      ).toBe(false);
      expect(claims(`Instructions: ${tagged}`, tagged, RESPONSE)).toBe(false);
      expect(claims(`${tagged}\n<response>DONE</response>`, tagged, RESPONSE)).toBe(true);
      expect(claims(`My prompt is “${LINE}”`, PROMPT, TASKS)).toBe(false);
      expect(claims(`${PROMPT}\nAll tasks complete`, PROMPT, TASKS)).toBe(true);
      expect(claims(SHORT, SHORT, TASKS)).toBe(false);
    });
  });
});

describe('a done pattern', () => {
  it.each([
    ['colours', 'All \u001B[32mtasks\u001B[0m complete\n'],
    ['carriage returns at line ends', 'All tasks complete\r\n'],
    ['a line that is written again', '10%\r20%\rAll tasks complete\r\n'],
    [
      'a link and a title',
      '\u001B]0;busy\u0007\u001B]8;;http://a\u001B\\All tasks\u001B]8;;\u001B\\ complete\r\n',
    ],
    ['cursor settings', '\u001B[?25l\u001B[KAll tasks\u001B(B complete\u001B[?25h'],
  ])('S4.44 matches what a person sees: without %s, however the output is cut', (_, output) => {
    const alone = [pattern('(?m)^All tasks complete$')];
    expect(claimIn(`working\n${output}`, '', alone)).toBe('All tasks complete');
    expect(claimIn(`working\n${output}`.split(''), '', alone)).toBe('All tasks complete');
  });

  it('S4.44 is searched the same way in the messages of a function or a session, in pieces too', () => {
    const says = (message: string, text: string): string =>
      `${JSON.stringify({ type: 'text', message, text })}\n`;
    const [start, middle, end] = ['All \u001B[3', '2mtasks\u001B[0m com', 'plete\r\n'];
    const pieces = says('1', start) + says('1', middle) + says('1', end);
    expect(claimIn(pieces, '', [pattern('^All tasks complete$')], scripted)).toBe('All tasks complete');
    const prompt = 'Print All tasks complete when the list is empty.';
    expect(claimIn(says('1', `Told: ${prompt}`), prompt, TASKS, scripted)).toBeNull();
  });

  it('does not depend on how the output is cut', () => {
    const prompt = 'Work on it.\nSay ok, and when it is all over say DONE at last.\nDONE\n';
    const detectors = [pattern('DONE')];
    const parts = fc.constantFrom(
      'Work on it.',
      'DONE',
      '\n',
      '\r',
      '\u001B[1m',
      prompt,
      '"',
      '\\n',
      'in: ',
      ...prompt.split('\n'),
      JSON.stringify(prompt),
    );
    fc.assert(
      fc.property(fc.array(parts), fc.array(fc.nat({ max: 200 })), (words, cuts) => {
        const whole = words.join('');
        const at = [0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].toSorted(
          (a, b) => a - b,
        );
        const pieces = at.slice(1).map((end, index) => whole.slice(at[index], end));
        expect(claimIn(pieces, prompt, detectors)).toBe(claimIn(whole, prompt, detectors));
      }),
    );
  });

  it('is searched in a line without an end, and keeps no more than a part of it', () => {
    const reader = readerOf(custom, TASKS, '');
    for (let piece = 0; piece < 300; piece++) reader.read(Buffer.alloc(16_384, 'x'));
    reader.read(Buffer.from(' All tasks complete'));
    reader.end();
    expect(reader.snapshot(true).claim).not.toBeNull();
  });
});
