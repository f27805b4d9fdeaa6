/**
 * Texts that agents, checks and documents write are read in time that grows like their length: one that was made to be slow must
 * not freeze the process that owns other loops.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import { agentNamed } from '../../src/agents/agents.ts';
import { Echo } from '../../src/agents/echo.ts';
import { inMessageRun } from '../../src/agents/message-run.ts';
import { readRun, type RunReader } from '../../src/agents/reader.ts';
import { resetTime } from '../../src/agents/reset-time.ts';
import { limitInLastLine, readTrouble } from '../../src/agents/trouble.ts';
import type { Agent } from '../../src/agents/agent.ts';
import { readRecords } from '../../src/bus/records.ts';
import { recipesIn } from '../../src/checks/makefile.ts';
import { simpleCommands } from '../../src/checks/shell-words.ts';
import { parseMarkdownState } from '../../src/session/hook/markdown-state.ts';
import { ownText } from '../../src/hosts/own-text.ts';
import { commitMessage, withoutClaims } from '../../src/loop/commit-message.ts';
import { globMatcher } from '../../src/loop/glob.ts';
import { drawn, lastLines } from '../../src/loop/last-lines.ts';
import { presets } from '../../src/loop/presets.ts';
import { searchInTime } from '../../src/owner/pattern-search.ts';
import { titleOf } from '../../src/checks/plan-items.ts';
import { outputLine, outputLines, readOutput } from '../../src/projections/check-output.ts';
import { hideKeys, hideLikelyKeys } from '../../src/loop/secrets.ts';
import { visible } from '../../src/text/one-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'ralph-long-texts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const PROMPT = 'Do it.\n\n> > say | <promise>DONE</promise> | only when it is really done, and not before\n';
writeFileSync(join(folder, 'prompt.md'), PROMPT);

/** What is repeated, and what stands before and behind it. */
const PARTS = [
  ' ',
  '\t',
  '\n',
  '\r',
  '\f',
  '"',
  '\\"',
  '\\',
  'a',
  'A',
  '0',
  '-',
  '_',
  '.',
  ':',
  '/',
  '@',
  '*',
  '#',
  '`',
  '|',
  '> ',

  '…',
  '=',
  ', ',
  '$(',
  '(',
  '[',
  '{',
  '<',
  '<!--',
  '<pre ',
  '\u001B[',
  '\u001B[0m',
  '\u001B]',
  '1/',
  '2%',
  '1.1',
  'a://a:',

  'token',
  'secret=',
  'api-key: ',
  '-u a:',
  'Bearer ',
  'user:',
  '<promise>',
  '<promise> ',
  '<response>D',
  '<title>',

  '"message":"',
  ' message="stream error" ',
  ' error.error="',
  'in 1 ',
  'retrying ',
  ' in ',
  'resets at ',
  'A.',
  'a|b ',
  '\n\n ',
  'thread a panicked at ',
  '- [ ] ',
  'include ',
  'say ',
  '> > ',
  'limit ',
  'you-',
  'a-b ',
];
const BEFORE = ['', '<html><title>', '"', 'timestamp=a level=ERROR ', '<promise>'];
const LENGTH = 100_000;
/** Linear takes some milliseconds, also on a busy machine. */
const LIMIT_MS = 3000;

const box = { work: (): void => {} };
const context = createContext(box);
const script = new Script('work()');

function reader(agent: Agent): RunReader {
  return readRun(
    agent,
    presets.default.policy.completion.detectors,
    {
      shown: { offset: 0 },
      startedAt: 0,
      folder,
      workspaceFolder: folder,
      argv: [agent.name],
      env: () => ({}),
      session: null,
      price: () => null,
      hide: (text) => text,
      search: searchInTime,
    },
    () => {},
  );
}

function reads(agent: Agent, text: string): void {
  const run = reader(agent);
  const lines = [
    { type: 'text', message: '1', text },
    { type: 'assistant', message: { id: '1', content: [{ type: 'text', text }] } },
    { type: 'item.completed', item: { type: 'agent_message', id: '1', text } },
    { type: 'error', message: text, error: { message: text } },
    { type: 'result', is_error: true, ok: false, result: text, text },
  ].map((record) => `${JSON.stringify(record)}\n`);
  for (const line of [...lines, text]) run.read(Buffer.from(line));
  run.readStderr(Buffer.from(text));
  run.readScreen(text);
  run.end();
  run.snapshot(true);
}

const log = join(folder, 'check.log');
const logged = (text: string): void => {
  writeFileSync(log, text);
  readOutput(log, { side: 'failures', chars: 5000, marker: '' }, hideLikelyKeys);
  readOutput(log, { side: 'tail', chars: 5000, marker: '' }, hideLikelyKeys);
  outputLines(log, { lines: 5, chars: 100 }, hideLikelyKeys);
  outputLine(log, { side: 'failures', chars: 5000, marker: '' }, hideLikelyKeys);
};

const AGENTS = ['claude', 'opencode', 'custom'].map((name) => agentNamed(name));
const READERS: readonly (readonly [string, (text: string) => void])[] = [
  ...AGENTS.map((agent) => [`the stream of ${agent.name}`, (text: string) => reads(agent, text)] as const),
  ['a run for a commit message', (text) => reads(inMessageRun(agentNamed('codex')), text)],
  ['the output of a check', logged],
  ['an echo of the prompt', (text) => void [...new Echo(PROMPT).push(text), ...new Echo(PROMPT).push(text)]],
  ['a trouble', (text) => void readTrouble({ message: text }, 0)],
  ['a limit in the last line', (text) => void limitInLastLine(text, 0)],
  ['a reset time', (text) => void resetTime(text, 0)],
  ['a text with keys', (text) => void hideLikelyKeys(text)],
  ['a command with keys', (text) => void hideKeys(text)],
  [
    'the records of a bus',
    (text) => void readRecords(Buffer.from(`---\ntype: a\n---\n${text}\n---\n${text}`)),
  ],
  ['a Makefile', (text) => void recipesIn(text, ['test'])],
  ['a command line', (text) => void simpleCommands(text)],
  [
    'a state file of a hook',
    (text) => void parseMarkdownState(`---\nactive: ${text}\n${text}\n---\n${text}`),
  ],
  ['a screen', (text) => void ownText(text, '', PROMPT)],
  ['a prompt on a screen', (text) => void ownText('x', '', text)],
  ['a commit message', (text) => void commitMessage(text, 'first-line')],
  ['an answer with claims', (text) => void withoutClaims(text, ['DONE'])],
  ['a terminal', (text) => void lastLines(drawn(text))],
  ['the title of an item', (text) => void titleOf(text)],
  ['what is printed', (text) => void visible(text)],
  ['a path', (text) => void globMatcher(['**/a*b*c', '**/**/x', '[!a]*'])(text)],
];

const TEXTS = PARTS.flatMap((part) => [
  ['', part, ''] as const,
  ...BEFORE.map((before) => [before, part, '\u0000x'] as const),
]);

describe('the time for a long text grows like its length in', () => {
  it.each(READERS)('%s', { timeout: 300_000 }, (_, read) => {
    const slow = TEXTS.flatMap(([before, part, behind]) => {
      const text = `${before}${part.repeat(LENGTH / part.length)}${behind}`;
      box.work = () => read(text);
      try {
        script.runInContext(context, { timeout: LIMIT_MS });
        return [];
      } catch (error) {
        return [`${JSON.stringify([before, part, behind])}: ${String(error)}`];
      }
    });
    expect(slow).toEqual([]);
  });
});
