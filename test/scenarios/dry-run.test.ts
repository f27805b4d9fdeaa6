/** `--dry-run`: what it prints is what a real start uses, and it leaves nothing behind. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openLoadedStage, waitFor, type Stage } from './stage.ts';

const DONE = "echo '<promise>DONE</promise>'";

/** Everything in the workspace and the state. */
const files = (stage: Stage): readonly string[] =>
  [stage.workspace, stage.env['XDG_STATE_HOME'] ?? ''].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.startsWith('.git/'))
      .toSorted(),
  );

it('prints the prompt and the command of the real run, and leaves nothing behind', async () => {
  const stage = openLoadedStage();
  stage.plans('default', DONE);
  stage.write('PLAN.md', '- [ ] write the parser\n');
  stage.write('.ralph/settings.json', JSON.stringify({ maxIterations: 4, maxFailures: 3 }));
  const words = ['fix it', '--name', 'it', '--plan', 'PLAN.md', '--check', 'test -f a', '-m', '1'];
  const before = files(stage);
  const dry = await stage.ralph('run', ...words, '--dry-run', '--json', '--', stage.agent).ended;
  expect([dry.code, dry.stderr]).toEqual([0, '']);
  expect(files(stage)).toEqual(before);
  const found: unknown = JSON.parse(dry.stdout);
  expect(found).toMatchObject({
    name: 'it',
    workspace: stage.workspace,
    worktree: null,
    agent: 'custom',
    command: stage.agent,
    checks: ['test -f a', 'ralph plan check PLAN.md'],
    plan: 'PLAN.md',
    limits: { iterations: 1, failures: 3 },
    settings: [{ key: 'maxFailures', value: 3, origin: 'file' }],
  });
  await stage.ralph('run', ...words, '--', stage.agent).ended;
  expect(found).toHaveProperty('prompt', stage.given(1, 'stdin'));
});

it('prints the place, the limits, the possible cost, the settings of files and the notes', async () => {
  const stage = openLoadedStage();
  stage.git('config', 'user.name', 't');
  stage.git('config', 'user.email', 't@t');
  stage.write('.ralph/settings.json', JSON.stringify({ maxIterations: 4 }));
  const { code, stdout, stderr } = await stage.ralph(
    'run',
    'fix it',
    '--check',
    'true',
    '--worktree',
    '--dry-run',
    '--',
    stage.agent,
  ).ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^dry run: no loop is started\n\nname +fix-it-1\n/);
  expect(stdout).toMatch(/^works in +\/.*\/fix-it-1, a worktree on the branch ralph\/fix-it-1$/m);
  expect(stdout).toMatch(/^check +true$/m);
  expect(stdout).toMatch(/^limits +at most 4 iterations, .*, at most 2h per run$/m);
  expect(stdout).toMatch(
    /^cost +not limited: what 4 iterations and 8h of the agent cost; the agent does not report it$/m,
  );
  expect(stdout).toMatch(/^settings +maxIterations = 4 \(\.ralph\/settings\.json:1:2\)$/m);
  expect(stdout).toMatch(/^note +warning: the check "true" cannot fail, so it verifies nothing$/m);
  expect(stdout).toMatch(/\n\nprompt of the first run:\n\nfix it\n/);
});

it('refuses what a real start refuses, with the same message', async () => {
  const stage = openLoadedStage();
  stage.plans('default', waitFor());
  const run = (...words: readonly string[]) => stage.ralph('run', ...words).ended;
  const cases = [
    ['fix it', '--', 'no-such-agent'],
    ['fix it', '--name', 'a b', '--', stage.agent],
    ['fix it', '--plan', 'NONE.md', '--', stage.agent],
    ['--', stage.agent],
    [
      'fix it',
      '--check',
      'curl -H "x: sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"',
      '--',
      stage.agent,
    ],
  ];
  for (const words of cases) {
    // oxlint-disable-next-line no-await-in-loop -- one stage
    const [real, dry] = [await run(...words), await run('--dry-run', ...words)];
    expect([real.code, dry]).toEqual([2, real]);
  }
  const taken = ['fix it', '--name', 'taken', '-m', '1', '--', stage.agent];
  await run('--detach', ...taken);
  const [real, dry] = [await run(...taken), await run('--dry-run', ...taken)];
  expect([real.code, dry]).toEqual([2, real]);
  await stage.ralph('stop', 'taken', '--now').ended;
  stage.release();
  const report = await run('fix it', '--dry-run', '--report', 'json', '--', stage.agent);
  expect([report.code, report.stderr]).toEqual([
    2,
    'ralph: error: cannot use --dry-run with --report or --report-file: no loop is started; drop one of them\n',
  ]);
});

it('works for ralph loop and ralph spawn', async () => {
  const stage = openLoadedStage();
  const before = files(stage);
  const loop = await stage.ralph('loop', 'fix it', '--check', 'false', '--dry-run', '--', stage.agent).ended;
  expect([loop.code, loop.stderr]).toEqual([0, '']);
  expect(loop.stdout).toMatch(/^limits +at most 25 iterations/m);
  const spawn = await stage.ralph(
    'spawn',
    '--name',
    'worker',
    'fix it',
    '-m',
    '3',
    '--no-tmux',
    '--dry-run',
    '--',
    stage.agent,
  ).ended;
  expect(spawn.code).toBe(0);
  expect(spawn.stdout).toMatch(/^name +worker$/m);
  expect(files(stage)).toEqual(before);
});
