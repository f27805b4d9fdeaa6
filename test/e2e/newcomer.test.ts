/**
 * A newcomer's first hour on a terminal of 80 × 24: init, run, status and report.
 *
 * @module-tag tmux
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import stringWidth from 'fast-string-width';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { Terminals, type Terminal } from '../rig/cli/terminal.ts';

let terminals: Terminals;
let rig: Rig;

beforeAll(async () => {
  terminals = new Terminals();
  rig = await setUpRig();
  // An agent that is done at its second try.
  const bin = join(rig.folder, 'bin');
  mkdirSync(bin);
  const work = `cat >/dev/null; echo 'I have written the greeting.'; test "$(cat greeting 2>/dev/null | wc -l)" -ge 2 || echo hello >>greeting; echo '<promise>DONE</promise>'`;
  writeFileSync(join(bin, 'my-agent'), `#!/bin/sh\n${work}\n`);
  chmodSync(join(bin, 'my-agent'), 0o755);
  const scripts = { test: 'test "$(wc -l <greeting)" -eq 2' };
  writeFileSync(join(rig.workspace, 'package.json'), JSON.stringify({ scripts }));
});
afterAll(async () => {
  terminals.close();
  await rig.tearDown();
});

function open(...args: readonly string[]): Terminal {
  const PATH = `${join(rig.folder, 'bin')}:${rig.env['PATH'] ?? ''}`;
  return terminals.open([process.execPath, rig.command, ...args], {
    cwd: rig.workspace,
    env: { ...rig.env, PATH, TERM: 'screen', LC_ALL: 'C.UTF-8' },
    size: [80, 24],
  });
}

function lines({ screen }: Terminal): readonly string[] {
  const all = screen.split('\n');
  // Paths stay in one piece, so that a person can copy them.
  expect(all.filter((line) => stringWidth(line) > 80 && !/^ {2}logs |^Logs: /.test(line))).toEqual([]);
  return all;
}

it('three answers make the settings, and a task alone makes a verified loop that its report explains', async () => {
  const init = open('init');
  await init.shows('Agent:');
  init.types('my-agent\r');
  await init.shows('npm test');
  init.types('\r');
  await init.shows('Commit every iteration whose checks pass?');
  init.types('y\r');
  expect(await init.ends()).toMatchObject({ code: 0 });
  expect(lines(init).length).toBeLessThanOrEqual(24);

  const run = open('run', 'write the greeting twice', '--name', 'hello');
  expect(await run.ends()).toMatchObject({ code: 0 });
  expect(run.screen).toContain('claim rejected: the agent says it is done, but 1 check fails');
  expect(run.screen).toMatch(/^ralph: hello done$/m);

  const status = open('status');
  await status.ends();
  expect(lines(status)[0]).toBe('ralph: loop hello, the only one in this workspace');
  expect(status.screen).toMatch(/^Check: npm test: passed$/m);

  const report = open('report');
  expect(await report.ends()).toMatchObject({ code: 0 });
  const told = lines(report);
  expect(told.length).toBeLessThan(24);
  for (const row of [
    /^ {2}result {6}done: claim accepted, and every check passed after the last run$/,
    /^ {2}iterations {2}2 of 10 \(3 runs\)$/,
    /^ {2}rejected {4}1 claim to be done, contradicted by a check$/,
  ])
    expect(told.filter((line) => row.test(line))).toHaveLength(1);
});
