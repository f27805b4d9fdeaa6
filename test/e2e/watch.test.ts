/**
 * `ralph watch` on a real terminal, with real loops.
 *
 * @module-tag tmux
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import stringWidth from 'fast-string-width';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { busAt } from '../../src/bus/bus-file.ts';
import { post } from '../../src/bus/bus.ts';
import { draft } from '../../src/bus/message.ts';
import type { Program } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { Terminals, type Terminal } from '../rig/cli/terminal.ts';
import type { Turn } from '../rig/cli/turn.ts';
import { until } from '../rig/cli/until.ts';

let terminals: Terminals;
let rig: Rig;
let night: Turn;
let owner: Program;
let flood: Turn;

const HOSTILE = '\u001B[31mred\u001B[0m\rdone \u202Egnp.exe \u001B]0;title\u0007';

beforeAll(async () => {
  terminals = new Terminals();
  rig = await setUpRig();
  const scripted = ['--agent', 'scripted', '-m', '9', '--', ...rig.agent];
  await rig.does(
    'run',
    HOSTILE,
    '--name',
    'ended',
    '-m',
    '1',
    '--check',
    `echo 'not ok 1 - adds up'; exit 1`,
    '--',
    'true',
  );
  owner = rig.ralph(['run', 'work', '--name', 'night', ...scripted]);
  night = await rig.nextTurn();
  await night.prints('{"type":"tool.start","id":"1","name":"Bash","input":"npm test"}\n');
  await rig.loop('night').journals('run.started');
  await rig.does('run', 'store the orders', '--name', 'shop', '-m', '9', '--detach', '--', ...rig.agent);
  const turn = await rig.nextTurn();
  const body = `Which database? ${HOSTILE}`;
  await post(busAt(turn.env['MESSAGE_BUS'] ?? ''), draft({ type: 'QUESTION', projectId: 'p', body }));
  await turn.exits(0);
  await rig.loop('shop').journals('probe.finished', ({ phase }) => phase === 'before', 2);
  await rig.does('run', 'print', '--name', 'flood', '-m', '9', '--detach', '--', ...rig.agent);
  flood = await rig.nextTurn();
});
afterAll(async () => {
  terminals.close();
  for (const name of ['shop', 'flood', 'night']) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await rig.does('kill', name);
  }
  await rig.tearDown();
});

function watch(
  size: readonly [number, number] = [80, 24],
  env: Readonly<Record<string, string>> = {},
): Terminal {
  return terminals.open([process.execPath, rig.command, 'watch'], {
    cwd: rig.workspace,
    env: { ...rig.env, TERM: 'screen', LC_ALL: 'C.UTF-8', ...env },
    size,
  });
}

/** Waits until a line of the screen matches, and returns it. */
function sees(terminal: Terminal, pattern: RegExp): Promise<string> {
  const look = (): string | null => terminal.view.find((line) => pattern.test(line)) ?? null;
  return until(String(pattern), look, { seen: () => terminal.view.join('\n') });
}

async function quits(terminal: Terminal): Promise<void> {
  terminal.types('q');
  expect(await terminal.ends()).toEqual({ code: 0, terminal: 'as before' });
}

describe('the list', () => {
  it('shows what the loops do and ask as text, on 80 × 24 and 200 × 50, and after each resize', async () => {
    const terminal = watch();
    expect(await sees(terminal, /need you:/)).toMatch(/^2 need you: ended \(failed\)|^2 need you: ended/);
    await sees(terminal, /^ {2}night +running +1\/9 .*Bash\(npm test\) \d+ s$/);
    await sees(terminal, /^ {2}shop +1 question .*asks: Which database\?/);
    for (const size of [
      [200, 50],
      [80, 24],
    ] as const) {
      terminal.resizes(size);
      // oxlint-disable-next-line no-await-in-loop -- one size after the other
      await sees(terminal, size[0] > 100 ? /^ +NAME .*AGE/ : /^ +NAME (?!.*AGE)/);
      expect(terminal.view.filter((line) => stringWidth(line) > size[0])).toEqual([]);
      expect(terminal.view.findLastIndex((line) => line.startsWith('q quit'))).toBe(size[1] - 2);
    }
    terminal.resizes([300, 100]);
    expect(await sees(terminal, /asks: Which database.*gnp/)).toContain('\\u{202e}gnp.exe');
    await quits(terminal);
  });

  it('shows at once that the owner of a loop was killed', async () => {
    const terminal = watch();
    await sees(terminal, /^ {2}night +running/);
    await owner.crashes();
    expect(await sees(terminal, /^ {2}night +crashed/)).toContain('no process runs it');
    await quits(terminal);
    expect(rig.loop('night').state.outcome).toBeNull();
  });
});

describe('a request', () => {
  it('answers the question of a loop, and shows the event that did it', async () => {
    const terminal = watch([80, 24], { NO_COLOR: '1' });
    await sees(terminal, /^[> ] shop /);
    // oxlint-disable-next-line no-control-regex -- what colours a text
    expect(terminal.colours).not.toMatch(/\u001B\[3\dm/);
    terminal.types('n');
    terminal.types('n');
    await sees(terminal, /^> shop /);
    terminal.types('r');
    await sees(terminal, /^answer shop:/);
    terminal.types('PostgreSQL 16\r');
    const said = await sees(terminal, /^answer shop: queued → taken \(event \d+\) → done/);
    const { events } = rig.loop('shop');
    const place = events.findIndex(({ type }) => type === 'control.received');
    expect(said).toContain(`taken (event ${place + 1})`);
    expect((await rig.nextTurn()).prompt).toContain('The answer: PostgreSQL 16');
    await quits(terminal);
  });

  it('sets a limit, says what is wrong with one, and stops a loop', async () => {
    const terminal = watch();
    await sees(terminal, /^[> ] shop /);
    terminal.types('/shop\r');
    await sees(terminal, /filter: shop/);
    terminal.presses('Home');
    terminal.types('lmax-iterations=30\r');
    await sees(terminal, /^set shop: queued → taken/);
    await sees(terminal, /^> shop +\S+ +2\/30/);
    terminal.types('lmax-money=3\r');
    await sees(terminal, /expected KEY=VALUE with KEY one of/);
    terminal.types('snow\r');
    await sees(terminal, /^stop shop: queued → taken \(event \d+\) → done \(event \d+, loop\.ended\)/);
    expect(rig.loop('shop').state.outcome?.type).toBe('stopped');
    await quits(terminal);
  });
});

describe('a loop', () => {
  it('says why it is not done, with the failing test by its name', async () => {
    const terminal = watch();
    await sees(terminal, /^> ended /);
    terminal.types('\r');
    await sees(terminal, /^\[why\]/);
    await sees(terminal, /exit 1 fails \(exit 1/);
    expect(await sees(terminal, /adds up$/)).toMatch(/^ +✗ |^ +not ok 1/);
    terminal.types('3');
    await sees(terminal, /^## When you are done/);
    terminal.presses('Escape');
    await sees(terminal, /^> ended /);
    await quits(terminal);
  });

  it('shows the end of a flood of output, and takes keys meanwhile', async () => {
    const terminal = watch([200, 50]);
    await sees(terminal, /^[> ] flood /);
    terminal.types('/flood\r');
    await sees(terminal, /filter: flood/);
    terminal.presses('Home', 'Enter');
    await sees(terminal, /^\[why\]/);
    terminal.types('2');
    const copy = join(rig.folder, 'sent-to-terminal');
    terminal.copiesTo(copy);
    const lines = (from: number): string =>
      Array.from({ length: 5000 }, (_, index) => `line ${from + index} of the flood\n`).join('');
    for (let piece = 0; piece < 10; piece++) {
      // oxlint-disable-next-line no-await-in-loop -- one piece after the other
      await flood.prints(lines(5000 * piece));
    }
    await sees(terminal, /^line 49999 of the flood$/);
    terminal.presses('PageUp');
    await sees(terminal, /^line 49950 of the flood$/);
    // Without flicker: nothing is cleared.
    const sent = readFileSync(copy, 'utf8');
    expect(sent).toContain('line 49999 of the flood');
    // oxlint-disable-next-line no-control-regex -- what clears a screen
    expect(sent).not.toMatch(/\u001B\[[23]J/);
    await quits(terminal);
  });
});

describe('the terminal is as before', () => {
  it('after Ctrl-C, SIGTERM and SIGHUP', async () => {
    const [pressed, terminated, hungUp] = [watch(), watch(), watch()];
    for (const terminal of [pressed, terminated, hungUp]) {
      // oxlint-disable-next-line no-await-in-loop -- all of them start at once
      await sees(terminal, /need you/);
    }
    pressed.presses('C-c');
    expect(await pressed.ends()).toEqual({ code: 130, terminal: 'as before' });
    terminated.receives('SIGTERM');
    expect(await terminated.ends()).toEqual({ code: 143, terminal: 'as before' });
    hungUp.receives('SIGHUP');
    expect(await hungUp.ends()).toEqual({ code: 129, terminal: 'as before' });
    // The end of the rig sees that no process is left of one whose terminal was closed.
    const closed = watch();
    await sees(closed, /need you/);
    closed.goesAway();
  });

  it('after a crash, and the error stands on the screen', async () => {
    const crash = "process.on('SIGUSR2',()=>{throw(new(Error)('boom'))})";
    const terminal = watch([80, 24], { NODE_OPTIONS: `--import=data:text/javascript,${crash}` });
    await sees(terminal, /need you/);
    terminal.receives('SIGUSR2');
    expect((await terminal.ends()).terminal).toBe('as before');
    expect(terminal.screen).toContain('Error: boom');
  });

  it('while it is suspended with Ctrl-Z, and fg brings the loops back', async () => {
    const terminal = terminals.open(['/bin/sh', '-i'], {
      cwd: rig.workspace,
      env: { ...rig.env, TERM: 'screen', LC_ALL: 'C.UTF-8', PS1: 'shell: ' },
      size: [80, 24],
    });
    terminal.types(`${process.execPath} ${rig.command} watch; echo ended $?\r`);
    await sees(terminal, /need you/);
    terminal.presses('C-z');
    await sees(terminal, /Stopped/);
    expect(terminal.view.join('\n')).not.toContain('need you');
    terminal.types('stty -a\r');
    await sees(terminal, /(?<!-)icanon/);
    terminal.types('fg\r');
    await sees(terminal, /need you/);
    terminal.types('q');
    await sees(terminal, /^shell:$/);
    terminal.types('exit\r');
    expect((await terminal.ends()).terminal).toBe('as before');
  });
});

it('prints the table of ralph ls without a terminal', async () => {
  const ageless = (text: string): string => text.replaceAll(/\b\d+[sm]\b/g, '0s');
  const { code, stdout } = await rig.does('watch');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^NAME +STATE/);
  expect(ageless(stdout)).toBe(ageless((await rig.does('ls')).stdout));
});
