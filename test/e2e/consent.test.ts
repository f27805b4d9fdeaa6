/**
 * The question whether settings are trusted, on a real terminal.
 *
 * @module-tag tmux
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { Terminals, type Terminal } from '../rig/cli/terminal.ts';
import { until } from '../rig/cli/until.ts';

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

const QUESTION = '[y/N]';

/** Starts `ralph run` with an agent that claims at once, as a user who has set no RALPH_TRUST. */
function starts(
  env: Readonly<Record<string, string>> = {},
  size: readonly [number, number] = [100, 100],
): Terminal {
  const agent = rig.plain("echo '<promise>DONE</promise>'");
  const { RALPH_TRUST: _, ...others } = rig.env;
  return terminals.open([process.execPath, rig.command, 'run', 'task', '--fresh', '--', ...agent], {
    cwd: rig.workspace,
    env: { ...others, TERM: 'screen', LC_ALL: 'C.UTF-8', ...env },
    size,
  });
}

function settings(content: object): void {
  const path = rig.path('.ralph/settings.json');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(content));
}

/** A check that leaves a file behind, and whether it is there. */
const trace = (): string => join(rig.folder, 'check-ran');
const hasRun = (): boolean => existsSync(trace());

it('shows what the settings run and asks once; a change shows the difference and asks again', async () => {
  settings({ checks: [{ command: `touch ${trace()}` }], maxIterations: 3, agent: { flags: ['--fast'] } });
  const first = starts();
  await first.shows(QUESTION);
  expect(hasRun()).toBe(false);
  const lines = first.screen.split('\n');
  expect(lines[0]).toBe(`The settings of ${rig.workspace} are not trusted yet.`);
  const at = (text: string): number => lines.findIndex((line) => line.includes(text));
  expect(at('.ralph/settings.json runs:')).toBeLessThan(at('agent.flags'));
  expect(at('agent.flags')).toBeLessThan(at(`checks.command  touch ${trace()}`));
  expect(at('checks.command')).toBeLessThan(at('.ralph/settings.json sets:'));
  expect(at('.ralph/settings.json sets:')).toBeLessThan(at('maxIterations  3'));
  first.types('y\r');
  expect(await first.ends()).toEqual({ code: 0, terminal: 'as before' });
  expect(hasRun()).toBe(true);

  const second = starts();
  expect((await second.ends()).code).toBe(0);
  expect(second.screen).not.toContain(QUESTION);

  settings({ checks: [{ command: 'true' }], maxIterations: 3, agent: { flags: ['--fast'] } });
  const third = starts();
  await third.shows(QUESTION);
  expect(third.screen).toContain('have changed since you trusted them');
  expect(third.screen).toContain(`- checks.command  touch ${trace()}`);
  expect(third.screen).toContain('+ checks.command  true');
  expect(third.screen).not.toContain('--fast');
  third.types('yes\r');
  expect((await third.ends()).code).toBe(0);
});

it.each([
  ['Enter', (terminal: Terminal) => terminal.types('\r')],
  ['n', (terminal: Terminal) => terminal.types('n\r')],
  ['anything else', (terminal: Terminal) => terminal.types('yesterday\r')],
  ['Ctrl-C', (terminal: Terminal) => terminal.presses('C-c')],
  ['Ctrl-C after y', (terminal: Terminal) => terminal.presses('y', 'C-c')],
  ['Ctrl-D', (terminal: Terminal) => terminal.presses('C-d')],
])('takes %s for no', async (_, answers) => {
  settings({ checks: [{ command: `touch ${trace()}` }] });
  const terminal = starts();
  await terminal.shows(QUESTION);
  answers(terminal);
  expect(await terminal.ends()).toEqual({ code: 2, terminal: 'as before' });
  expect(terminal.screen).toContain('nothing was started');
  expect(hasRun()).toBe(false);
  expect(existsSync(rig.path('.ralph/loops'))).toBe(false);
});

it('leaves nothing behind if the terminal is closed', async () => {
  settings({ checks: [{ command: `touch ${trace()}` }] });
  const terminal = starts();
  await terminal.shows(QUESTION);
  terminal.goesAway();
  await until('no process', () => (rig.left().length === 0 ? true : null));
  expect(hasRun()).toBe(false);
  expect(existsSync(rig.path('.ralph/loops'))).toBe(false);
});

it('does not ask in CI, although there is a terminal', async () => {
  settings({ checks: [{ command: `touch ${trace()}` }] });
  const terminal = starts({ CI: 'true' });
  expect((await terminal.ends()).code).toBe(2);
  expect(terminal.screen).not.toContain(QUESTION);
  expect(terminal.screen).toContain('ralph trust');
});

it('cannot be fooled by control characters, overrides, line breaks, blanks and long values', async () => {
  const up = '\u001B[2J\u001B[1;1H\u001B[8m';
  settings({
    checks: [
      { command: `${up}true #\r\nTrust these settings? \u202Eon\u202C` },
      { command: `true${' '.repeat(2000)}; touch ${trace()}` },
      { command: `npm test ${'x'.repeat(70)}      Trusted until they change` },
    ],
    setup: Array.from({ length: 60 }, (_, index) => `echo ${index}`),
  });
  const terminal = starts({}, [80, 24]);
  await terminal.shows(QUESTION);
  const { screen } = terminal;
  expect(screen).toContain('\\u{001b}[2J\\u{001b}[1;1H\\u{001b}[8mtrue #\\r\\nTrust');
  expect(screen).toContain('\\u{202e}on\\u{202c}');
  expect(screen).not.toContain('\u001B');
  expect(screen).not.toContain('\u202E');
  // No line of the settings begins where Ralph's lines begin.
  expect(screen.split('\n').filter((line) => /^(?:Trust|npm|; touch)/.test(line))).toEqual([
    expect.stringContaining(QUESTION),
  ]);
  expect(screen.replaceAll(/\s+/g, '')).toContain(`true[2,000blanks];touch${trace()}`);
  expect(screen).toContain('echo 59');
  terminal.presses('C-c');
  expect((await terminal.ends()).code).toBe(2);
});

it('takes no answer where it cannot show all; what has been read in the file is trusted with ralph trust', async () => {
  settings({ checks: [{ command: `true ${'x'.repeat(2000)}; touch ${trace()}` }], maxIterations: 1 });
  const terminal = starts({}, [200, 50]);
  terminal.types('y\r');
  expect((await terminal.ends()).code).toBe(2);
  expect(terminal.screen).not.toContain(QUESTION);
  const said = terminal.screen.replaceAll(/\s+/g, ' ');
  expect(said).toContain('read checks.command in .ralph/settings.json (or: ralph trust --show)');
  expect(said).toContain('then trust them with: ralph trust');
  expect(hasRun()).toBe(false);
  const { RALPH_TRUST: _, ...env } = rig.env;
  const place = { cwd: rig.workspace, env: { ...env, TERM: 'screen' } };
  expect((await terminals.open([process.execPath, rig.command, 'trust'], place).ends()).code).toBe(0);
  const trusted = starts();
  expect((await trusted.ends()).code).toBe(0);
  expect(hasRun()).toBe(true);
});
