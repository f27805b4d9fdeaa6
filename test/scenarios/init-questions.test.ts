/** The three questions of `ralph init`, and the rest of them with `--advanced`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Terminals } from '../rig/cli/terminal.ts';
import { answer, openInit } from './init-terminal.ts';
import { openLoadedStage, type Stage } from './stage.ts';

const FILE = '.ralph/settings.json';
const SUCCESS = { code: 0, terminal: 'as before' };

let terminals: Terminals;
beforeAll(() => {
  terminals = new Terminals();
});
afterAll(() => terminals.close());

const settings = (stage: Stage): unknown => JSON.parse(stage.read(FILE));

describe('ralph init', { tags: ['tmux'] }, () => {
  const ASKED = {
    agent: 'Agent:',
    checks: 'Checks that must pass (several as: npm test, npm run lint):',
    commits: 'Commit every iteration whose checks pass? (y/N):',
  };

  it('asks three questions, suggests what it finds, agents that are logged in first, and writes only that', async () => {
    const stage = openLoadedStage();
    stage.write('package.json', JSON.stringify({ scripts: { test: 'x', lint: 'x' } }));
    for (const agent of ['claude', 'codex']) stage.write(`bin/${agent}`, '#!/bin/sh\n');
    await stage.shell('chmod +x bin/*').ended;
    const terminal = openInit(terminals, stage, { PATH: stage.path('bin'), OPENAI_API_KEY: 'sk-1' });
    await terminal.shows('Agents found: codex (API key in OPENAI_API_KEY), claude (');
    await terminal.shows(`${ASKED.agent}\n│  codex`);
    await answer(terminal, [[ASKED.agent, '']]);
    await terminal.shows(`${ASKED.checks}\n│  npm test, npm run lint`);
    await answer(terminal, [
      [ASKED.checks, ''],
      [ASKED.commits, 'y'],
    ]);
    expect(await terminal.ends()).toEqual(SUCCESS);
    expect(terminal.screen).toContain('\n\nSettings written to .ralph/settings.json');
    expect(terminal.screen).not.toMatch(/completion|response|guardrail/i);
    const written = {
      agent: { command: 'codex' },
      checks: ['npm test', 'npm run lint'],
      scm: { command: 'git', tasks: ['commit'] },
    };
    expect(stage.read(FILE)).toBe(`${JSON.stringify(written, null, 2)}\n`);
  });

  it('asks again after an invalid answer, says what is missing, and takes what is typed ahead', async () => {
    const stage = openLoadedStage();
    const terminal = openInit(terminals, stage);
    terminal.types('\r"claude\rclaude --model opus\r\rmaybe\r\r');
    expect(await terminal.ends()).toEqual(SUCCESS);
    for (const said of [
      'Agent command is required',
      'Unclosed quote',
      'claude is not installed; ralph run needs it',
      'No supported agent found (see ralph agents).',
      'Without checks, Ralph cannot verify that the work is done.',
      'Please answer y or n',
    ])
      expect(terminal.screen).toContain(said);
    expect(settings(stage)).toEqual({ agent: { command: 'claude', flags: ['--model', 'opus'] }, checks: [] });
  });

  it('asks the rest with --advanced, and writes of it only what is not the default', async () => {
    const stage = openLoadedStage();
    const terminal = openInit(terminals, stage, {}, '--advanced');
    await answer(terminal, [
      [ASKED.agent, stage.agent],
      [ASKED.checks, 'true, ./verify --ext .js,.ts "a, b"'],
      [ASKED.commits, ''],
      ['Agent flags (comma-separated, optional):', '--verbose'],
      ['Maximum iterations [10]:', ''],
      ['Maximum cost in dollars (blank for no limit):', '0'],
    ]);
    await terminal.shows('Must be an amount greater than 0, such as 5 or 2.50; got "0"');
    terminal.types('$2.50\r');
    await answer(terminal, [
      ['Work in a worktree beside the repository? (y/N):', 'y'],
      ['Run the agent in a sandbox? (y/N):', ''],
    ]);
    expect(await terminal.ends()).toEqual(SUCCESS);
    expect(settings(stage)).toEqual({
      agent: { command: stage.agent, flags: ['--verbose'] },
      checks: ['true', './verify --ext .js,.ts "a, b"'],
      maxCost: 2.5,
      worktree: true,
    });
    const refused = await stage.ralph('init', '--yes', '--advanced').ended;
    expect(refused).toMatchObject({
      code: 2,
      stderr: 'ralph: error: --yes asks nothing, and --advanced asks more; drop one of them\n',
    });
  });
});
