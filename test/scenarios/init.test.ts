/** `ralph init`, typed into a real terminal. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Terminals, type Terminal } from '../rig/cli/terminal.ts';
import { until } from '../rig/cli/until.ts';
import { answer, MAIN, openInit } from './init-terminal.ts';
import { openLoadedStage, type Stage } from './stage.ts';

const AGENT = 'Agent command (e.g., claude, codex, amp, or other LLM CLI):';
const FLAGS = 'Agent flags (comma-separated, optional):';
const ITERATIONS = 'Maximum iterations [10]:';
const RESPONSE = 'Completion response [DONE]:';
const GUARDRAIL = 'Add guardrail command (leave blank to finish):';
const ACTION = '  Fail action (APPEND|PREPEND|REPLACE):';
const HINT = '  Hint (optional, guidance for agent on failure):';
const SCM = 'Configure SCM? (y/N):';
const SCM_COMMAND = '  SCM command (e.g., git):';
const SCM_TASKS = '  SCM tasks (comma-separated, e.g., commit,push):';
const OVERWRITE = 'Overwrite? (y/N):';
const WRITTEN = '\n\nSettings written to .ralph/settings.json';
const FILE = '.ralph/settings.json';

const SUCCESS = { code: 0, terminal: 'as before' };
const ABORTED = { code: 130, terminal: 'as before' };

let terminals: Terminals;
beforeAll(() => {
  terminals = new Terminals();
});
afterAll(() => terminals.close());

/** With the questions of document 001. */
function documentInit(stage: Stage, env: Readonly<Record<string, string>> = {}): Terminal {
  return openInit(terminals, stage, env, '--preset', 'ralph-cli');
}

const settings = (stage: Stage): unknown => JSON.parse(stage.read(FILE));

describe('ralph init --preset ralph-cli', { tags: ['tmux'] }, () => {
  it('S2.17 S2.18 S2.19 S2.20 S2.21 S2.22 S2.23 S2.24 S2.25 S2.116 writes the documented file for the documented answers (T043)', async () => {
    const stage = openLoadedStage();
    const terminal = documentInit(stage);
    await answer(terminal, [
      [AGENT, 'claude'],
      [FLAGS, '--model,opus'],
      [ITERATIONS, ''],
      [RESPONSE, ''],
      [GUARDRAIL, 'make lint'],
      [ACTION, 'APPEND'],
      [HINT, 'Fix lint errors only. Do not change behavior.'],
      [GUARDRAIL, 'make test'],
      [ACTION, 'append'],
      [HINT, ''],
      [GUARDRAIL, ''],
      [SCM, 'y'],
      [SCM_COMMAND, 'git'],
      [SCM_TASKS, 'commit'],
    ]);
    expect(await terminal.ends()).toEqual(SUCCESS);
    expect(terminal.screen).toContain(WRITTEN);
    expect(terminal.screen).toContain('└  Done.');
    const written = {
      preset: 'ralph-cli',
      maximumIterations: 10,
      completionResponse: 'DONE',
      outputTruncateChars: 5000,
      streamAgentOutput: true,
      includeIterationCountInPrompt: false,
      agent: { command: 'claude', flags: ['--model', 'opus'] },
      guardrails: [
        {
          command: 'make lint',
          failAction: 'APPEND',
          hint: 'Fix lint errors only. Do not change behavior.',
        },
        { command: 'make test', failAction: 'APPEND' },
      ],
      scm: { command: 'git', tasks: ['commit'] },
    };
    expect(stage.read(FILE)).toBe(`${JSON.stringify(written, null, 2)}\n`);
    expect(stage.git('status', '--porcelain', '--untracked-files=all')).toBe(`?? ${FILE}\n`);
    const config = await stage.ralph('config', '--json').ended;
    expect(config).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(config.stdout)).toMatchObject({
      'agent.command': { value: 'claude', origin: 'file' },
      completionResponse: { value: 'DONE', origin: 'file' },
    });
  });

  it('S2.17 S2.19 S2.21 S2.116 explains an invalid answer and asks again (T041 T044)', async () => {
    const stage = openLoadedStage();
    const terminal = documentInit(stage);
    await answer(terminal, [
      [AGENT, ''],
      [AGENT, '  '],
      [AGENT, stage.agent],
      [FLAGS, '  --model  ,  opus  , '],
      [ITERATIONS, 'abc'],
      [ITERATIONS, '0'],
      [ITERATIONS, '3'],
      [RESPONSE, 'FERTIG'],
      [GUARDRAIL, 'true'],
      [ACTION, 'maybe'],
      [ACTION, 'Replace'],
      [HINT, ''],
      [GUARDRAIL, ''],
      [SCM, 'what'],
      [SCM, ''],
    ]);
    expect(await terminal.ends()).toEqual(SUCCESS);
    const { screen } = terminal;
    expect(screen.match(/Agent command is required/g)).toHaveLength(2);
    expect(screen).toContain('  Please enter a valid number');
    expect(screen).toContain('  Must be greater than 0');
    expect(screen).toContain('    Invalid action. Must be APPEND, PREPEND, or REPLACE');
    expect(settings(stage)).toMatchObject({
      maximumIterations: 3,
      agent: { command: stage.agent, flags: ['--model', 'opus'] },
      guardrails: [{ command: 'true', failAction: 'REPLACE' }],
    });
    expect(settings(stage)).not.toHaveProperty('scm');

    // A loop accepts these settings.
    stage.plans('default', 'echo "<response>FERTIG</response>"');
    const run = await stage.ralph('run', 'a task', '--name', 'it').ended;
    expect(run).toMatchObject({ code: 0 });
    expect(stage.given(1, 'argv').split('\n')).toEqual(expect.arrayContaining(['--model', 'opus']));
  });

  it('suggests the agent and checks that it finds: Enter accepts, typing replaces, Backspace edits', async () => {
    const stage = openLoadedStage();
    stage.write('node_modules/ralph-until-done/settings.schema.json', '{}');
    stage.write('bin/codex', '#!/bin/sh\n');
    const scripts = { test: 'x', lint: 'x', build: 'x', types: 'x' };
    stage.write('package.json', JSON.stringify({ scripts }));
    stage.write('pnpm-lock.yaml', '');
    await stage.shell('chmod +x bin/codex').ended;
    const terminal = documentInit(stage, { PATH: stage.path('bin') });
    await terminal.shows(`${AGENT}\n│  codex`);
    await answer(terminal, [
      [AGENT, ''],
      [FLAGS, ''],
      [ITERATIONS, ''],
      [RESPONSE, ''],
    ]);
    await terminal.shows('Checks found: pnpm test, pnpm run lint, pnpm run types, pnpm run build');
    await answer(terminal, [
      [`${GUARDRAIL}\n│  pnpm test`, ''],
      [ACTION, ''],
      [HINT, ''],
      [`${GUARDRAIL}\n│  pnpm run lint`, 'make lint'],
    ]);
    await terminal.shows(ACTION, 2);
    terminal.types('\r\r');
    await terminal.shows(`${GUARDRAIL}\n│  pnpm run types`);
    terminal.presses('BSpace', 'BSpace');
    terminal.types('\r\r\r');
    await terminal.shows(`${GUARDRAIL}\n│  pnpm run build`);
    terminal.presses('C-u', 'Enter');
    await answer(terminal, [[SCM, 'N']]);
    expect(await terminal.ends()).toEqual(SUCCESS);
    expect(settings(stage)).toMatchObject({
      $schema: '../node_modules/ralph-until-done/settings.schema.json',
      agent: { command: 'codex', flags: [] },
      guardrails: [
        { command: 'pnpm test', failAction: 'APPEND' },
        { command: 'make lint', failAction: 'APPEND' },
        { command: 'pnpm run typ', failAction: 'APPEND' },
      ],
    });
  });

  it('accepts input that is typed ahead or pasted, with any line ending', async () => {
    const stage = openLoadedStage();
    const terminal = documentInit(stage);
    terminal.types('claude\r--verbose\n5\r\rmake test\n\n\n\r\r');
    expect(await terminal.ends()).toEqual(SUCCESS);
    expect(settings(stage)).toMatchObject({
      maximumIterations: 5,
      agent: { command: 'claude', flags: ['--verbose'] },
      guardrails: [{ command: 'make test', failAction: 'APPEND' }],
    });
  });
});

describe('ralph init without a result', { tags: ['tmux'] }, () => {
  /** The exit code, the last lines and whether the folder exists. */
  const endOf = async (terminal: Terminal, stage: Stage): Promise<object> => ({
    ...(await terminal.ends()),
    said: terminal.screen.split('\n').slice(-2),
    folder: existsSync(stage.path('.ralph')),
  });
  const ABORTED_WITHOUT_FILE = { ...ABORTED, said: ['', 'Aborted.'], folder: false };

  it.each([
    ['Ctrl-C', 'C-c'],
    ['Ctrl-D', 'C-d'],
  ])('S2.15 S2.25 S2.116 exits 130 without a file after %s at the first question (T042)', async (_, key) => {
    const stage = openLoadedStage();
    const terminal = documentInit(stage);
    await terminal.shows(AGENT);
    terminal.presses(key);
    expect(await endOf(terminal, stage)).toEqual(ABORTED_WITHOUT_FILE);
  });

  it.each([
    ['Ctrl-C', 'C-c'],
    ['Ctrl-D', 'C-d'],
  ])('S2.15 S2.25 S2.116 exits 130 without a file after %s at a later question (T042)', async (_, key) => {
    const stage = openLoadedStage();
    stage.write('Makefile', 'test:\n\ttrue\n');
    const terminal = documentInit(stage);
    await answer(terminal, [
      [AGENT, 'claude'],
      [FLAGS, ''],
      [ITERATIONS, ''],
      [RESPONSE, ''],
    ]);
    // The suggestion makes the line non-empty.
    await terminal.shows(`${GUARDRAIL}\n│  make test`);
    terminal.presses(key);
    expect(await endOf(terminal, stage)).toEqual(ABORTED_WITHOUT_FILE);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'S2.15 S2.25 exits 130, writes no file and restores the terminal after %s',
    async (signal) => {
      const stage = openLoadedStage();
      const terminal = documentInit(stage);
      await terminal.shows(AGENT);
      for (const pid of stage.running) process.kill(pid, signal);
      expect(await endOf(terminal, stage)).toEqual(ABORTED_WITHOUT_FILE);
    },
  );

  it('S2.15 ends and writes no file when the terminal disappears', async () => {
    const stage = openLoadedStage();
    const terminal = documentInit(stage);
    await terminal.shows(AGENT);
    terminal.goesAway();
    await until('its end', () => (stage.running.length === 0 ? true : null));
    expect(existsSync(stage.path('.ralph'))).toBe(false);
  });

  it('S2.14 S2.25 S2.116 exits 2 without a terminal and suggests --yes (T042)', async () => {
    const stage = openLoadedStage();
    const { code, stdout, stderr } = await stage.ralph('init').ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^ralph: error: init requires an interactive terminal; .*ralph init --yes/);
    expect(existsSync(stage.path('.ralph'))).toBe(false);
    const line = `"${process.execPath}" "${MAIN}" init | cat; "${process.execPath}" "${MAIN}" init < /dev/null`;
    const terminal = terminals.open(['/bin/sh', '-c', line], { cwd: stage.workspace, env: stage.env });
    expect(await terminal.ends()).toMatchObject({ code: 2 });
    expect(terminal.screen.match(/error: init requires an interactive terminal/g)).toHaveLength(2);
  });
});

describe('existing settings', { tags: ['tmux'] }, () => {
  const base = { maxIterations: 7, agent: { command: 'claude', flags: ['-x'] } };

  it('S2.16 S2.25 are shown merged with their origin, and kept by default (T046)', async () => {
    const stage = openLoadedStage();
    stage.write(FILE, JSON.stringify(base));
    stage.write('.ralph/settings.local.json', JSON.stringify({ agent: { flags: ['-y'] } }));
    const terminal = documentInit(stage);
    await answer(terminal, [[OVERWRITE, '']]);
    expect(await terminal.ends()).toEqual(SUCCESS);
    const merged = JSON.stringify({ ...base, agent: { command: 'claude', flags: ['-y'] } }, null, 2);
    expect(terminal.screen).toContain(
      `${merged}\nLoaded from .ralph/settings.json (with local overlay from settings.local.json)\n`,
    );
    expect(terminal.screen).not.toContain(AGENT);
    expect(stage.read(FILE)).toBe(JSON.stringify(base));
  });

  it('S2.16 are replaced after a yes, with a backup, and kept if init is aborted', async () => {
    const stage = openLoadedStage();
    stage.write(FILE, JSON.stringify(base));
    const first = documentInit(stage);
    await answer(first, [[OVERWRITE, 'yes']]);
    expect(first.screen).toContain(`${JSON.stringify(base, null, 2)}\nLoaded from .ralph/settings.json\n`);
    await answer(first, [[AGENT, 'amp']]);
    await first.shows(FLAGS);
    first.presses('C-c');
    expect(await first.ends()).toEqual(ABORTED);
    expect(stage.read(FILE)).toBe(JSON.stringify(base));

    const second = documentInit(stage);
    await second.shows(OVERWRITE);
    second.types('y\ramp\r\r\r\r\r\r');
    expect(await second.ends()).toEqual(SUCCESS);
    expect(second.screen).toContain(WRITTEN);
    expect(settings(stage)).toMatchObject({ agent: { command: 'amp' }, maximumIterations: 10 });
    expect(stage.read('.ralph/settings.json.bak')).toBe(JSON.stringify(base));
    expect(second.screen).toContain('.ralph/settings.json.bak');
  });

  it('S2.16 S2.116 that are malformed are reported and can be replaced (T046)', async () => {
    const stage = openLoadedStage();
    stage.write(FILE, '{\n  "agent": {,\n}\n');
    const terminal = documentInit(stage);
    await answer(terminal, [[OVERWRITE, '']]);
    expect(await terminal.ends()).toEqual(SUCCESS);
    expect(terminal.screen).toContain(
      'ralph: error: existing settings file is malformed: .ralph/settings.json:2:13: not valid JSON',
    );
    expect(stage.read(FILE)).toContain('{,');
    const again = documentInit(stage);
    await again.shows(OVERWRITE);
    again.types('y\rclaude\r\r\r\r\r\r');
    expect(await again.ends()).toEqual(SUCCESS);
    expect(settings(stage)).toMatchObject({ agent: { command: 'claude' } });
  });
});

describe('the terminal', { tags: ['tmux'] }, () => {
  it('shows colours, and none with NO_COLOR', async () => {
    const stage = openLoadedStage();
    const coloured = documentInit(stage);
    const plain = documentInit(stage, { NO_COLOR: '1' });
    await coloured.shows(AGENT);
    await plain.shows(AGENT);
    // oxlint-disable-next-line no-control-regex -- colours start with an escape character
    const COLOUR = /\u001B\[(?:3[1-7]|90)m/;
    expect(coloured.colours).toMatch(COLOUR);
    expect(plain.colours).not.toMatch(COLOUR);
    for (const terminal of [coloured, plain]) terminal.presses('C-c');
    expect(await coloured.ends()).toEqual(ABORTED);
    expect(await plain.ends()).toEqual(ABORTED);
  });
});

describe('ralph init --yes', () => {
  it('asks nothing and uses what it finds, also without a terminal', async () => {
    const stage = openLoadedStage();
    stage.write('bin/amp', '#!/bin/sh\n');
    await stage.shell('chmod +x bin/amp').ended;
    stage.write('Cargo.toml', '');
    const line = `PATH="$PWD/bin" "${process.execPath}" "${MAIN}" init --yes`;
    const { code, stdout, stderr } = await stage.shell(line).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(WRITTEN);
    expect(settings(stage)).toEqual({ agent: { command: 'amp' }, checks: ['cargo test', 'cargo clippy'] });
  });

  it('replaces settings only with --force, and keeps a backup', async () => {
    const stage = openLoadedStage();
    stage.write(FILE, '{ "maximumIterations": 7 }');
    const refused = await stage.ralph('init', '--yes').ended;
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('ralph init --yes --force');
    expect(stage.read(FILE)).toBe('{ "maximumIterations": 7 }');
    const line = `PATH=/nowhere "${process.execPath}" "${MAIN}" init --yes --force --cwd "${stage.workspace}"`;
    const forced = await stage.shell(line).ended;
    expect(forced).toMatchObject({ code: 0 });
    expect(forced.stderr).toContain('no supported agent is installed; the settings name claude');
    expect(settings(stage)).toMatchObject({ agent: { command: 'claude' }, checks: [] });
    expect(stage.read('.ralph/settings.json.bak')).toBe('{ "maximumIterations": 7 }');
  });

  it('S2.25 exits 2 if it cannot write the file', async () => {
    const stage = openLoadedStage();
    stage.write('.ralph', 'a file in the way');
    const { code, stderr } = await stage.ralph('init', '--yes').ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/^ralph: error: cannot write \.ralph\/settings\.json: /m);
  });
});
