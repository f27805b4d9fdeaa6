/** What Ralph tells a person whose input is almost right. */
import { mkdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const config = (stage: Stage) => stage.ralph('config').ended;

describe('settings', () => {
  it.each([
    [
      'a comment',
      '{\n  // as usual\n  "maxIterations": 3\n}',
      '2:3: not valid JSON: comments are not allowed',
    ],
    [
      'a comma too many',
      '{\n  "maxIterations": 3,\n}',
      '2:21: not valid JSON: remove the comma after the last',
    ],
    [
      'a comma in a list',
      '{"checks": ["a", ]}',
      '1:16: not valid JSON: remove the comma after the last entry',
    ],
    [
      'a key twice',
      '{\n  "maxIterations": 3,\n  "maxIterations": 4\n}',
      '3:3: "maxIterations" is set twice, first in line 2; keep one of them',
    ],
    [
      'an inner key twice',
      '{"agent": {"model": "a",\n "model": "b"}}',
      '2:2: "model" is set twice, first in line 1',
    ],
    ['open brackets', '['.repeat(100_000), '1:101: nested more than 100 levels deep\n'],
    [
      'deep lists',
      `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
      '1:101: nested more than 100 levels deep\n',
    ],
  ])('with %s are rejected with line and column', async (_, text, message) => {
    const stage = openLoadedStage();
    stage.settings(text);
    const { code, stdout, stderr } = await config(stage);
    expect(stderr).toContain(`ralph: error: failed to load settings: .ralph/settings.json:${message}`);
    expect({ code, stdout, lines: stderr.split('\n').length }).toEqual({ code: 2, stdout: '', lines: 2 });
  });

  it('may contain brackets in texts', async () => {
    const stage = openLoadedStage();
    stage.settings({ checks: [{ command: `echo "${'['.repeat(200)}\\""` }] });
    expect((await config(stage)).code).toBe(0);
  });

  it('of the root are mentioned if a loop starts in a folder without its own', async () => {
    const stage = openLoadedStage();
    stage.settings({ maxIterations: 1 });
    mkdirSync(stage.path('packages/a'), { recursive: true });
    const note =
      'not using ../../.ralph/settings.json: it is for loops that work in ../..; use it with: --cwd ../..';
    const below = await stage.run('-p', 'x', '-m', '1', '--cwd', 'packages/a');
    expect(below.stderr).toContain(note);
    stage.write('packages/a/.ralph/settings.json', '{}');
    const own = await stage.run('-p', 'x', '-m', '1', '--cwd', 'packages/a');
    expect(own.stderr).not.toContain('not using');
    expect((await stage.run('-p', 'x', '-m', '1')).stderr).not.toContain('not using');
  });

  it('of the root are mentioned if no agent is selected in a folder without its own', async () => {
    const stage = openLoadedStage();
    stage.settings({ agent: { command: 'claude' } });
    mkdirSync(stage.path('packages/a'), { recursive: true });
    const below = await stage.ralph('run', 'fix the tests', '--cwd', 'packages/a').ended;
    expect(below.code).toBe(2);
    expect(below.stderr).toMatch(
      /^ralph: error: no agent selected: .*; not using \.\.\/\.\.\/\.ralph\/settings\.json: .* use it with: --cwd \.\.\/\.\.\n$/,
    );
  });
});

describe('an agent command with its flags in one text', () => {
  it('gets a hint at agent.flags', async () => {
    const stage = openLoadedStage();
    stage.settings({ agent: { command: 'claude --model opus' } });
    const { code, stderr } = await stage.ralph('run', 'fix the tests').ended;
    expect(code).toBe(2);
    expect(stderr).toContain('agent command not found: claude --model opus (looked in PATH); ');
    expect(stderr).toContain(
      'agent.flags in the settings ("command": "claude", "flags": ["--model","opus"])',
    );
    expect(stderr).toContain('or pass them unquoted: -- claude --model opus\n');
  });
});

it('S2.106 an agent command that may be an alias of the shell gets a hint at its command line', async () => {
  const stage = openLoadedStage();
  const hint = (word: string): string =>
    `\n(If ${word} is an alias or a function of your shell, write out its command line: after --, or as agent.command and agent.flags in the settings)\n`;
  stage.settings({ agent: { command: 'my-claude' } });
  expect((await stage.ralph('run', '-p', 'x').ended).stderr).toContain(hint('my-claude'));
  stage.env['PATH'] = '/nowhere';
  const known = await stage.ralph('run', '-p', 'x', '--agent', 'qwen').ended;
  expect(known.stderr).toContain(`@qwen-code/qwen-code${hint('qwen')}`);
  const path = await stage.ralph('run', '-p', 'x', '--', './my-claude').ended;
  expect(path.stderr).not.toContain('alias');
});

describe('a check without quotes', () => {
  it.each([
    ['a word that would be the task', ['run', '--check', 'npm', 'test'], 'npm test'],
    ['the form with =', ['run', '--check=npm', 'test'], 'npm test'],
    ['a word too many', ['run', 'fix it', '--check', 'npm', 'test', '-m', '1'], 'npm test'],
    ['words too many', ['run', 'fix it', '--check', 'npm', 'run', 'lint'], 'npm run lint'],
    ['a task in a file', ['run', '-f', 'README.md', '--check', 'npm', 'test'], 'npm test'],
    ['ralph loop', ['loop', 'fix it', '--check', 'make', 'test'], 'make test'],
  ])('is explained: %s', async (_, args, check) => {
    const stage = openLoadedStage();
    const { code, stderr } = await stage.ralph(...args, '--', stage.agent).ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 2, calls: 0 });
    expect(stderr.toLowerCase()).toContain('quote a check of several words');
    expect(stderr).toContain(`--check "${check}"`);
  });

  it('is no problem for a check that is complete in one word', async () => {
    const stage = openLoadedStage();
    const { code } = await stage.ralph('run', '--check', 'true', 'refactor', '-m', '1', '--', stage.agent)
      .ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 1 });
  });

  it('is no problem for a task of several words after a check', async () => {
    const stage = openLoadedStage();
    const { code } = await stage.ralph('run', '--check', 'true', 'fix it', '-m', '1', '--', stage.agent)
      .ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 1 });
  });
});

describe('ralph help', () => {
  it('suggests a command or a topic for an unknown one, and lists the topics', async () => {
    const stage = openLoadedStage();
    const { code, stdout, stderr } = await stage.ralph('help', 'statsu').ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(
      /^ralph: error: unknown command or topic 'statsu' \(did you mean status\?\); list the commands with: ralph help --all; the topics with: ralph help topics\n$/,
    );
    expect((await stage.ralph('help', 'sandbx').ended).stderr).toContain('(did you mean sandbox?)');
    expect((await stage.ralph('help', 'foo').ended).stderr).toContain("unknown command or topic 'foo'; list");
    expect((await stage.ralph('help', 'ls').ended).stdout).toContain('Usage: ralph ls');
  });
});

describe('--quiet', () => {
  it('does not hide warnings', async () => {
    const stage = openLoadedStage();
    const { stderr } = await stage.run('-p', 'x', '--protect', 'no-such/*', '-m', '1', '--quiet');
    expect(stderr).toContain('[ralph] it: warning: protect: no file matches "no-such/*" now');
    expect(stderr).not.toContain('starting iteration');
  });
});

describe('ralph status', () => {
  it('prints long times in minutes and hours', async () => {
    const stage = openLoadedStage();
    await stage.run('-p', 'x', '-m', '1');
    expect((await stage.ralph('status', 'it').ended).stdout).toContain('Inactivity timeout: 20m\n');
  });
});
