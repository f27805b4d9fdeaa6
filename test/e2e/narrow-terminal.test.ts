/**
 * Tables and the status line on a terminal of 80 columns and 24 lines.
 *
 * @module-tag tmux
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { Terminals } from '../rig/cli/terminal.ts';
import { AgentRig, finishes, says } from './agent-rig.ts';

let terminals: Terminals;
let rig: Rig;
beforeAll(() => {
  terminals = new Terminals();
});
afterAll(() => terminals.close());
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

/** What a command prints on a terminal of 80 columns; lines that the terminal itself breaks are joined and so too long. */
async function shown(...args: readonly string[]): Promise<readonly string[]> {
  const terminal = terminals.open([process.execPath, rig.command, ...args], {
    cwd: rig.workspace,
    env: { ...rig.env, TERM: 'screen' },
    size: [80, 24],
  });
  await terminal.ends();
  return terminal.screen.split('\n');
}

const LONG = 'printf "%s\\n" one two three && test -f a-file-with-a-long-name-in-a-folder/that-is-deep.txt';

it('ralph agents fits', async () => {
  const lines = await shown('agents');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines[0]).toMatch(/^AGENT +INSTALLED +TESTED WITH +REPORTS +COMMAND$/);
  const at = lines[0]?.indexOf('COMMAND') ?? 0;
  const claude = lines.findIndex((line) => line.startsWith('claude '));
  const codex = lines.findIndex((line) => line.startsWith('codex '));
  const text = lines.slice(claude, codex).map((line) => line.slice(at));
  expect(text.join(' ')).toBe('install with: npm install -g @anthropic-ai/claude-code');
});

it('ralph config fits and loses nothing', async () => {
  mkdirSync(rig.path('.ralph'));
  rig.write('.ralph/settings.json', JSON.stringify({ checks: [{ command: LONG }], maxCost: 3 }));
  const lines = await shown('config');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  const [start, end] = [lines[0]?.indexOf('VALUE') ?? 0, lines[0]?.indexOf('FROM') ?? 0];
  const cells = (setting: string): readonly [value: string, from: string] => {
    const first = lines.findIndex((line) => line.startsWith(setting));
    const rest = lines.slice(first + 1).findIndex((line) => /^\S/.test(line));
    const own = lines.slice(first, first + 1 + rest);
    const joined = (cut: (line: string) => string): string => own.map(cut).join('').replaceAll(' ', '');
    return [joined((line) => line.slice(start, end)), joined((line) => line.slice(end))];
  };
  expect(cells('maxCost')).toEqual(['3', expect.stringMatching(/^\.ralph\/settings\.json:1:\d+$/)]);
  expect(cells('checks')[0]).toContain(JSON.stringify(LONG).replaceAll(' ', ''));
});

it('ralph ls cuts the task, and ralph status wraps it at words', async () => {
  await rig.does(
    'run',
    'a task '.repeat(20),
    '--name',
    'a-loop-with-a-rather-long-name',
    '-m',
    '1',
    '--',
    ...rig.plain('exit 1'),
  );
  const list = await shown('ls');
  expect(list.filter((line) => line.length > 80)).toEqual([]);
  expect(list[1]).toMatch(/^a-loop-with-a-rather-long-name .*…$/);
  const status = await shown('status');
  // A path stays in one piece.
  expect(status.filter((line) => line.length > 80 && !line.startsWith('Logs: '))).toEqual([]);
  expect(status.join('\n')).toMatch(/^Task: a task[ akst]+\n {2}(?:task|a task)[ akst]*…?$/m);
});

it('ralph report and the end of a loop have the same text, wrapped at words, and name the first step', async () => {
  const check = 'echo the cart has a total that is not the sum of what was put into it before >&2; exit 1';
  const words = ['run', 'make the cart add up what is in it, and then show it', '--name', 'it', '-m', '1'];
  const end = await shown(...words, '--check', check, '--', ...rig.plain('echo "<promise>DONE</promise>"'));
  const told = await shown('report', 'it');
  expect(end.slice(end.indexOf(told[0] ?? ''))).toEqual(told);
  expect(told.filter((line) => line.length > 80)).toEqual([]);
  // All of it is on the screen.
  expect(told[0]).toBe('ralph: it iterations-exhausted');
  const text = told.map((line) => line.trim()).join(' ');
  expect(text).toContain(`look first  the output of ${check}: .ralph/loops/it/runs/0001/checks/`);
  expect(text).toContain(
    `rejected    1 claim to be done, contradicted by a check iteration 1, failed: ${check}`,
  );
  expect(text).toContain('resume      ralph resume it -m 2');
});

it('the status line of a run shows the iteration, and what is used of a cost limit', async () => {
  mkdirSync(join(rig.folder, 'bin'));
  const agents = new AgentRig(rig);
  agents.installs('claude');
  const words = ['run', 'task', '--name', 'it', '--agent', 'claude', '-m', '1', '--max-cost', '5'];
  const terminal = terminals.open([process.execPath, rig.command, ...words], {
    cwd: rig.workspace,
    env: { ...rig.env, ...agents.env, TERM: 'screen' },
    size: [80, 24],
  });
  const turn = await rig.nextTurn();
  // $25 per million.
  await turn.prints(says('Not yet.\n', 'm1', { input_tokens: 0, output_tokens: 50_000 }));
  await terminal.shows('it: iteration 1/1 · ');
  await terminal.shows(' · $1.25 of $5.00 · last activity ');
  await finishes(turn);
  expect((await terminal.ends()).code).toBe(0);
});
