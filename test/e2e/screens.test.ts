/**
 * What `ralph ls`, `ralph status` and `ralph logs` look like on terminals of 80 × 24 and 120 × 40. `npx vitest run
 * test/e2e/screens.test.ts --update` writes the texts again; read them before you commit them.
 *
 * @module-tag tmux
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import stringWidth from 'fast-string-width';
import { busAt } from '../../src/bus/bus-file.ts';
import { post } from '../../src/bus/bus.ts';
import { draft } from '../../src/bus/message.ts';
import type { LoopEvent } from '../../src/loop/event.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { Terminals, type Terminal } from '../rig/cli/terminal.ts';
import { registerLoop } from '../rig/loop-folder.ts';

let terminals: Terminals;
let rig: Rig;
let many: Rig;

const SIZES = [
  [80, 24],
  [120, 40],
] as const;

const LONG_NAME = 'a-name-as-long-as-names-can-be-and-longer-than-a-column-of-a-lis';
const HOSTILE = 'fix \u001B[31mred\u001B[0m\rStatus: done \u202Egnp.exe and \u001B]0;title\u0007 it';

beforeAll(async () => {
  terminals = new Terminals();
  rig = await setUpRig();
  many = await setUpRig();
  const told = (costUsd: number, text: string): string =>
    [
      { type: 'tool.start', id: '1', name: 'Bash', input: 'npm test' },
      { type: 'tool.end', id: '1', output: '3 tests failed' },
      { type: 'text', message: 'm', text: `${text}\n` },
      { type: 'result', ok: true, text: '<promise>DONE</promise>', costUsd },
    ]
      .map((event) => `printf '%s\\n' '${JSON.stringify(event)}'`)
      .join('; ');
  const runs = (name: string, task: string, script: string, ...words: readonly string[]) =>
    rig.does('run', task, '--name', name, '--agent', 'scripted', ...words, '--', ...rig.plain(script));
  const check = 'echo "the cart has a wrong total" >&2; exit 1';
  const cart = 'make the cart add up what is in it, and show the sum below the list of things in it';
  await runs(
    'cart',
    cart,
    told(0.75, 'I have corrected the sum.'),
    '-m',
    '2',
    '--max-cost',
    '5',
    '--check',
    check,
  );
  await runs(
    'docs',
    '買い物かごの合計を直してください。一覧の下に合計を表示してください。',
    told(0.2, '直しました。'),
    '-m',
    '1',
  );
  await runs(LONG_NAME, 'a short task', told(0.1, 'Done.'), '-m', '1', '--check', 'true');
  await runs('hostile', HOSTILE, 'exit 1', '-m', '1', '--max-failures', '1');
  const words = ['--name', 'shop', '-m', '3', '--detach', '--', ...rig.agent];
  await rig.does('run', 'store the orders', ...words);
  const turn = await rig.nextTurn();
  const body =
    'Which database are the orders to be kept in, the one of the shop or a new one for the orders alone?';
  const meta = { default: 'the one of the shop', timeout_ms: String(24 * 3_600_000) };
  await post(busAt(turn.env['MESSAGE_BUS'] ?? ''), draft({ type: 'QUESTION', projectId: 'p', body, meta }));
  await turn.exits(0);
  await rig.loop('shop').journals('probe.finished', ({ phase }) => phase === 'before', 2);
  vi.stubEnv('XDG_STATE_HOME', join(many.folder, 'state'));
  const ends: LoopEvent = { type: 'loop.ended', outcome: { type: 'waiting' }, at: 1 };
  for (let number = 1; number <= 200; number++)
    registerLoop(many.workspace, `loop-${String(number).padStart(3, '0')}`, number % 50 === 0 ? [ends] : []);
  vi.unstubAllEnvs();
});
afterAll(async () => {
  terminals.close();
  await rig.does('kill', 'shop');
  await rig.tearDown();
  await many.tearDown();
});

async function shown(
  on: Rig,
  [width, height]: readonly [number, number],
  ...args: readonly string[]
): Promise<Terminal> {
  const terminal = terminals.open([process.execPath, on.command, ...args], {
    cwd: on.workspace,
    env: { ...on.env, TERM: 'screen', LC_ALL: 'C.UTF-8' },
    size: [width, height],
  });
  await terminal.ends();
  return terminal;
}

/** The same text on every machine and day: times, folders and numbers of processes have their width and no value. */
function steady(text: string, on: Rig): string {
  return `${text
    .replaceAll(on.folder, '/tmp/ralph-rig')
    .replaceAll(/\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d/g, '2026-01-01$100:00:00')
    .replaceAll(/-PID\d+-\d+/g, '-PID12345-0001')
    .replaceAll(/process \d+/g, 'process 12345')
    .replaceAll(/\d{8}-\d{6}-\d+/g, '20260101-000000-12345')
    .replaceAll(/\b\d+s\b/g, (time) => '0s'.padEnd(time.length))
    .replaceAll(/ +$/gm, '')
    .replaceAll(/\b\d+ s\b/g, '0 s')
    .replaceAll(/\b\d{5}d\b/g, '20000d')
    .replaceAll(/-[0-9a-f]{8}\b/g, '-01234567')}\n`;
}

describe.each(SIZES)('on a terminal of %i × %i', (width, height) => {
  const size = [width, height] as const;
  const golden = (name: string): string => `../fixtures/screens/${name}-${width}.txt`;

  it('ls has a row of one line for each loop, those that need a person first', async () => {
    const { screen } = await shown(rig, size, 'ls');
    expect(screen.split('\n').filter((line) => stringWidth(line) > width)).toEqual([]);
    expect(screen.split('\n')).toHaveLength(6);
    await expect(steady(screen, rig)).toMatchFileSnapshot(golden('ls'));
  });

  it('ls --all has the loops below their workspaces', async () => {
    const { screen } = await shown(rig, size, 'ls', '--all');
    await expect(steady(screen, rig)).toMatchFileSnapshot(golden('ls-all'));
  });

  it('ls of 200 loops begins with those that wait for a person', async () => {
    const { screen } = await shown(many, size, 'ls');
    const lines = screen.split('\n');
    expect(lines).toHaveLength(201);
    expect(lines.filter((line) => stringWidth(line) > width)).toEqual([]);
    await expect(steady(lines.slice(0, height).join('\n'), many)).toMatchFileSnapshot(golden('ls-200'));
  });

  it('report of 200 loops has a screen for the first ten that need a person, and a row for each other', async () => {
    const { screen } = await shown(many, size, 'report', '--since', '900000h');
    const lines = screen.split('\n');
    expect(lines[0]).toMatch(/^200 loops since .*; 200 need a person$/);
    expect(lines.filter((line) => line.startsWith('ralph: loop-'))).toHaveLength(10);
    expect(lines.filter((line) => line.startsWith('loop-'))).toHaveLength(190);
    const rest = lines.slice(lines.findIndex((line) => line.startsWith('NAME')));
    expect(rest.filter((line) => stringWidth(line) > width)).toEqual([]);
    const shownLines = [...lines.slice(1, 20), '…', ...rest.slice(0, 4), '…', ...rest.slice(-2)];
    await expect(steady(shownLines.join('\n'), many)).toMatchFileSnapshot(golden('report-200'));
    const one = await many.does('report', 'loop-007');
    expect(one.stdout).toMatch(/^ralph: loop-007 crashed\n/);
  });

  it('status tells the task, the agent, the checks and the last rejected claim', async () => {
    const { screen } = await shown(rig, size, 'status', 'cart');
    await expect(steady(screen, rig)).toMatchFileSnapshot(golden('status'));
  });

  it('status shows an open question and the command that answers it', async () => {
    const { screen } = await shown(rig, size, 'status', 'shop');
    await expect(steady(screen, rig)).toMatchFileSnapshot(golden('status-question'));
  });

  it('status shows hostile words as text', async () => {
    const { screen } = await shown(rig, size, 'status', 'hostile');
    expect(screen).not.toMatch(/^Status: done/m);
    await expect(steady(screen, rig)).toMatchFileSnapshot(golden('status-hostile'));
  });

  it('logs has a heading for each iteration, and tools only with --full', async () => {
    const { screen } = await shown(rig, size, 'logs', 'cart');
    expect(screen).not.toContain('Bash(npm test)');
    await expect(steady(screen, rig)).toMatchFileSnapshot(golden('logs'));
    expect((await shown(rig, size, 'logs', 'cart', '--full')).screen).toContain('Bash(npm test)');
  });
});

it('status tells which tool of the agent runs now', async () => {
  const words = ['run', 'a task', '--name', 'night', '--agent', 'scripted', '-m', '1', '--', ...rig.agent];
  const program = rig.ralph(words);
  const turn = await rig.nextTurn();
  await turn.prints(
    '{"type":"tool.start","id":"1","name":"Read","input":"a.ts"}\n{"type":"tool.end","id":"1"}\n',
  );
  await turn.prints('{"type":"tool.start","id":"2","name":"Bash","input":"npm test"}\n');
  await rig.loop('night').journals('run.started');
  expect((await rig.does('status', 'night')).stdout).toMatch(/^Now: Bash\(npm test\), \d s$/m);
  await turn.prints('{"type":"tool.end","id":"2","output":"ok"}\n');
  expect((await rig.does('status', 'night')).stdout).toMatch(/^Now: agent, \d s$/m);
  await turn.exits(0);
  await program.ended;
  expect((await rig.does('status', 'night')).stdout).not.toMatch(/^Now:/m);
  await rig.does('rm', 'night');
});

it('checks are red or green on a terminal, and have no colour with NO_COLOR', async () => {
  const status = (await shown(rig, [80, 24], 'status', 'cart')).colours;
  expect(status).toContain('\u001B[31mfailed\u001B[39m');
  const list = (await shown(rig, [80, 24], 'ls')).colours;
  expect(list).toContain('\u001B[31mfail');
  expect(list).toContain('\u001B[32mdone');
  const terminal = terminals.open([process.execPath, rig.command, 'ls'], {
    cwd: rig.workspace,
    env: { ...rig.env, TERM: 'screen', NO_COLOR: '1' },
  });
  await terminal.ends();
  for (const colour of [31, 32]) expect(terminal.colours).not.toContain(`\u001B[${colour}m`);
});
