/** `ralph loop`, the command of document 002. */
import { describe, expect, it } from 'vitest';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const complete = 'echo COMPLETE';
const loop = (stage: Stage, ...args: readonly string[]) =>
  stage.ralph('loop', ...args, '--name', 'it', '--', stage.agent).ended;
const resultWithCost = (usd: number, text = 'more to do'): string =>
  `echo '${JSON.stringify({ type: 'result', ok: true, text, costUsd: usd })}'`;

describe('ralph loop', () => {
  it('S3.3 S3.6 S3.46 takes one task, defaults to 25 iterations and COMPLETE, and prints its limits first', async () => {
    const stage = openLoadedStage();
    stage.plans(1, complete);
    const { code, stderr } = await loop(
      stage,
      'add login',
      '--check',
      'true',
      '--check',
      'test -e README.md',
    );
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stderr.split('\n')[0]).toBe('Ralph Loop: 2 check(s), max 25 iterations');
    expect(stage.given(1, 'stdin')).toMatch(/^## Task\n\nadd login\n[^]*iteration 1\/25/);
    const many = await loop(stage, 'add', 'login', '--check', 'true');
    expect(many.code).toBe(2);
    expect(many.stderr).toContain('too many arguments');
  });

  it('S3.45 exits 2 on bad usage and starts nothing, 0 on success and 1 on any other end', async () => {
    const stage = openLoadedStage();
    const cases: readonly (readonly [readonly string[], string])[] = [
      [['x'], 'at least one shell command, such as "npm test" (preset architect'],
      [['--check', 'true'], 'missing task'],
      [['x', '--check', 'true', '--spec', 'none.md'], 'spec file not found: none.md'],
      [['x', '--check', 'true', '--config', 'none.yaml'], 'cannot read the configuration file none.yaml'],
      [
        ['x', '--check', 'true', '-m', '101'],
        '--max-iterations must be a whole number >= 1 and <= 100, got 101',
      ],
      [['x', '--check', 'true', '--prompt', 'y'], "unknown option '--prompt'"],
    ];
    for (const [args, message] of cases) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { code, stderr } = await loop(stage, ...args);
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toContain(message);
    }
    expect([stage.calls, stage.loops]).toEqual([0, []]);
    expect((await loop(stage, 'x', '--check', 'true', '-m', '1')).code).toBe(1);
    stage.plans(2, complete);
    expect((await loop(stage, 'x', '--check', 'true', '-m', '1')).code).toBe(0);
  });

  it('S3.5 S3.15 S3.51 replaces the task with the --spec file, reads it in every iteration, and uses the task if it is gone (T087)', async () => {
    const stage = openLoadedStage();
    stage.write('spec.md', 'the first spec');
    stage.plans(1, 'echo the second spec > spec.md');
    stage.plans(2, 'rm spec.md');
    await loop(stage, 'the task', '--spec', 'spec.md', '--check', 'false', '-m', '3');
    const tasks = [1, 2, 3].map((call) => stage.given(call, 'stdin').split('\n').slice(0, 3).join(' '));
    expect(tasks).toEqual([
      '## Task Specification  the first spec',
      '## Task Specification  the second spec',
      '## Task  the task',
    ]);
  });

  it('S3.7 S3.8 S3.31 S3.55 stops at the cost limit and not before (T090)', async () => {
    const stage = openLoadedStage();
    stage.plans('default', resultWithCost(0.05));
    const args = ['x', '--check', 'true', '--agent', 'scripted'];
    expect((await loop(stage, ...args, '--max-cost', '0.10')).code).toBe(1);
    expect(stage.calls).toBe(2);
    expect(stage.state['outcome']).toMatchObject({ type: 'cost-exhausted' });
    // 0 means unlimited, which is also the default.
    expect((await loop(stage, ...args, '--max-cost', '0', '--max-time', '0', '-m', '3')).code).toBe(1);
    expect(stage.calls).toBe(5);
    expect((await loop(stage, ...args, '-m', '3')).code).toBe(1);
    expect(stage.journal[0]).toMatchObject({ policy: { limits: { costUsd: null, timeMs: null } } });
    expect(stage.calls).toBe(8);
  });

  it('S3.6 S3.12 S3.39 S3.60 reads its block of a YAML file, which options override, and checks the ranges (T097)', async () => {
    const stage = openLoadedStage();
    const config = ['x', '--check', 'false', '-c', 'ralph.yaml'];
    const policy = () => stage.journal[0]?.['policy'];
    await loop(stage, 'x', '--check', 'false', '-m', '1');
    const withoutFile = policy();
    const values = ['max_iterations: 25', 'max_cost: null', 'max_time: null', 'completion_tag: "COMPLETE"'];
    stage.write('ralph.yaml', ['ralph_loop:', ...values, 'agent: build'].join('\n  '));
    await loop(stage, 'x', '--check', 'false', '-m', '1', '--config', 'ralph.yaml');
    expect(policy()).toEqual(withoutFile);
    stage.write(
      'ralph.yaml',
      'ralph_loop:\n  max_iterations: 2\n  max_cost: null\n  completion_tag: READY\n',
    );
    expect((await loop(stage, ...config)).stderr).toContain('max 2 iterations');
    expect(stage.given(3, 'stdin')).toContain('`READY`');
    expect((await loop(stage, ...config, '--max-iterations', '1')).stderr).toContain('max 1 iterations');
    stage.write('ralph.yaml', 'ralph:\n  max_iterations: 3\n  max_time: 600\n');
    expect((await loop(stage, ...config)).stderr).toContain('max 3 iterations');
    stage.write('ralph.yaml', 'ralph_loop:\n  max_iterations: 0\n');
    const { code, stderr } = await loop(stage, ...config);
    expect(code).toBe(2);
    expect(stderr).toContain('max_iterations must be a whole number from 1 to 100, got 0');
  });

  it('S3.10 S3.11 uses the named agent or the first installed one, and --model overrides the file', async () => {
    const stage = openLoadedStage();
    stage.installs('claude');
    stage.write('ralph.yaml', 'ralph_loop:\n  agent: build\n  model: sonnet\n');
    const args = ['loop', 'x', '--check', 'true', '-m', '1', '-c', 'ralph.yaml', '--name', 'it'];
    const { stderr } = await stage.ralph(...args).ended;
    expect(stderr).toContain('using claude, the first installed agent');
    expect(stage.given(1, 'argv')).toContain('--model\nsonnet\n');
    await stage.ralph(...args, '--model', 'opus', '--agent', 'build').ended;
    expect(stage.given(2, 'argv')).toContain('--model\nopus\n');
    stage.installs('codex');
    await stage.ralph(...args, '--agent', 'codex').ended;
    expect(stage.given(3, 'argv')).toMatch(/^e\n--json\n/);
  });

  it('reports checks that failed before, were fixed or were broken, unless --no-baseline is given', async () => {
    const stage = openLoadedStage();
    stage.plans('default', ': > fixed; rm -f README.md');
    const checks = ['test -e fixed', 'test -e README.md', 'test -e never'].flatMap((check) => [
      '--check',
      check,
    ]);
    const { stderr } = await loop(stage, 'x', '-m', '1', ...checks);
    expect(stderr).toContain('before the first iteration: check failed: test -e fixed');
    expect(stage.given(1, 'stdin')).toMatch(
      /## Checks That Fail Already[^]*### test -e fixed[^]*### test -e never/,
    );
    expect(stage.given(1, 'stdin')).not.toContain('### test -e README.md');
    expect(stderr).toMatch(/fixed +test -e fixed \(failed before the loop\)/);
    expect(stderr).toMatch(/failing +test -e README\.md \(exit 1, broken by the loop\)/);
    expect(stderr).toMatch(/failing +test -e never \(exit 1, failed before the loop\)/);
    const without = await loop(stage, 'x', '-m', '1', '--no-baseline', ...checks);
    expect(without.stderr).not.toContain('before the first iteration');
    expect(stage.given(2, 'stdin')).not.toContain('Fail Already');
  });

  it('S3.22 S3.52 reports a check that timed out with its time limit', async () => {
    const stage = openLoadedStage();
    await loop(stage, 'x', '-m', '2', '--no-baseline', '--check', 'sleep 30', '--check-timeout', '200ms');
    expect(stage.given(2, 'stdin')).toContain('Timeout (0.2s)');
    await loop(stage, 'x', '-m', '1', '--check', 'true');
    expect(stage.journal[0]).toMatchObject({ policy: { checks: { timeoutMs: 120_000 } } });
  });

  it('S3.54 S3.56 records the error of a failed agent and reports it in the next prompt', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'exit 7');
    await loop(stage, 'x', '-m', '2', '--check', 'true');
    expect(stage.read('.ralph/loops/it/progress.md')).toContain('- Error: agent exited with code 7\n');
    expect(stage.given(2, 'stdin')).toContain('## Execution Error');
  });

  it('S3.42 S3.43 S3.45 S3.46 writes its result as JSON, as Markdown or for GitHub', async () => {
    const stage = openLoadedStage();
    const check = "test -e fixed || { echo 'no `fix` | yet'; exit 1; }";
    stage.plans(1, 'echo working; echo token=abcdefgh1234');
    stage.plans(2, `: > fixed; ${complete}`);
    const json = await loop(stage, 'x', '--check', check, '--report', 'json');
    expect(json.code).toBe(0);
    expect(JSON.parse(json.stdout)).toMatchObject({
      name: 'it',
      success: true,
      stopReason: 'all_checks_passed',
      totalIterations: 2,
      worktreePath: null,
      iterations: [
        { iteration: 1, allChecksPassed: false, completionTagFound: false, error: null },
        {
          iteration: 2,
          allChecksPassed: true,
          completionTagFound: true,
          checkResults: [{ name: check, passed: true }],
        },
      ],
    });
    expect(json.stderr).toContain(
      '  Iter 1: [FAIL] steps=0 cost=unknown\n  Iter 2: [PASS] [TAG] steps=0 cost=unknown\n',
    );

    await stage.shell('rm fixed').ended;
    const args = ['x', '--check', check, '-m', '1'];
    const page = await loop(stage, ...args, '--report', 'markdown', '--report-file', 'report.md');
    expect(page.code).toBe(1);
    expect(stage.read('report.md')).toMatch(/^## Ralph loop `it`: iterations-exhausted\n/);
    expect(stage.read('report.md')).toMatch(/^\| checks \| 0 of 1 pass; before the loop 0 of 1 \|$/m);
    expect(stage.read('report.md')).toMatch(/^\| cost \| unknown: no run reported it \|$/m);
    expect(stage.read('report.md')).toContain('```\nno `fix` | yet\n```');

    const summary = stage.path('summary.md');
    stage.env['GITHUB_STEP_SUMMARY'] = summary;
    stage.plans('default', 'echo hello');
    const github = await loop(stage, ...args, '--report', 'github');
    expect(github.stdout).toBe('hello\n');
    expect(stage.read('summary.md')).toContain('<summary>failing: <code>test -e fixed || { echo');
    for (const [wrong, message] of [
      [['--report', 'xml'], '--report must be one of json, markdown, github, got "xml"'],
      [['--report-file', 'x'], '--report-file requires --report'],
      [['--report', 'json', '--report-file', '/nowhere/x'], '--report-file: cannot write /nowhere/x'],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await loop(stage, ...args, ...wrong)).stderr).toContain(message);
    }
  });

  it('keeps its exit code if the report cannot be written, and empties the report of an earlier loop', async () => {
    const stage = openLoadedStage();
    stage.write('d/x', '');
    stage.plans(1, `rm -r d; ${complete}`);
    const lost = await loop(stage, 'x', '--check', 'true', '--report', 'json', '--report-file', 'd/x');
    expect(lost.code).toBe(0);
    expect(lost.stderr).toContain('cannot write the report: no such file or folder');
    stage.write('old.json', '{"success":true}');
    const args = ['--check', 'true', '--report', 'json', '--report-file', 'old.json', '--agent', 'nosuch'];
    expect((await stage.ralph('loop', 'x', ...args).ended).code).toBe(2);
    expect(stage.read('old.json')).toBe('');
  });

  it('writes reports with run and resume too', async () => {
    const stage = openLoadedStage();
    const reports = ['--report', 'json', '--report-file', 'r.json'];
    stage.plans('default', 'echo working');
    const run = stage.ralph(
      'run',
      'x',
      '--name',
      'it',
      '-m',
      '1',
      '--restart-delay',
      '0',
      ...reports,
      '--',
      stage.agent,
    );
    expect((await run.ended).code).toBe(1);
    expect(JSON.parse(stage.read('r.json'))).toMatchObject({
      success: false,
      totalIterations: 1,
      costIsKnown: false,
    });
    const more = await stage.ralph('resume', 'it', '-m', '3', '--report', 'markdown').ended;
    expect(more.code).toBe(1);
    expect(more.stdout).toMatch(
      /^## Ralph loop `it`: iterations-exhausted\n[^]*\n\| 3 \| none \| none \| unknown \| \d+s \|\n/,
    );
  });

  it('S3.56 continues if progress.md cannot be written, warns once, and writes it again when it can', async () => {
    const stage = openLoadedStage();
    const file = '.ralph/loops/it/progress.md';
    // Ralph may write the file for the first iteration while the second runs.
    stage.plans(2, `until mkdir ${file} 2>/dev/null; do rm -f ${file}; done`);
    stage.plans(4, `rmdir ${file}`);
    const { code, stderr } = await loop(stage, 'x', '-m', '4', '--check', 'true');
    expect(code).toBe(1);
    expect(stderr.match(/cannot write .*progress\.md: it is a folder/g)).toHaveLength(1);
    expect(stage.read(file).match(/^## Iteration \d — PASS$/gm)).toEqual(
      [1, 2, 3, 4].map((number) => `## Iteration ${number} — PASS`),
    );
  });

  it('S3.28 records an iteration that was stopped before its checks as UNCHECKED', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    const ralph = stage.ralph(
      'loop',
      'x',
      '--check',
      'true',
      '--no-baseline',
      '--name',
      'it',
      '--',
      stage.agent,
    );
    await stage.waitForCall(1);
    ralph.signal('SIGINT');
    await ralph.until('received SIGINT');
    stage.release();
    expect((await ralph.ended).code).toBe(130);
    expect(stage.read('.ralph/loops/it/progress.md')).toMatch(
      /^## Iteration 1 — UNCHECKED\n\n- Steps: 0\n- Cost: unknown\n/,
    );
  });

  it('S3.29 S3.50 gives the first agent the progress of an earlier failed loop of its name (T099)', async () => {
    const stage = openLoadedStage();
    const args = ['x', '-m', '1', '--check', 'test -e fixed || { echo no fix yet; exit 1; }'];
    await loop(stage, ...args);
    stage.plans(2, `: >fixed; ${complete}`);
    await loop(stage, ...args);
    expect(stage.given(2, 'stdin')).toMatch(/# Of an earlier loop\n\n## Iteration 1 — FAIL[^]*no fix yet/);
    await loop(stage, ...args);
    expect(stage.given(3, 'stdin')).not.toContain('earlier loop');
  });

  it('rejects a check that contains a key, and redacts the key', async () => {
    const stage = openLoadedStage();
    const { code, stderr } = await loop(stage, 'x', '--check', 'echo sk-ant-abcdefghijklmnop1234; false');
    expect(code).toBe(2);
    expect(stderr).toContain(
      'a check contains what looks like a key: echo <redacted>; false; pass it as a variable',
    );
    expect(stderr).not.toContain('abcdef');
    expect(stage.calls).toBe(0);
  });

  it('redacts secrets in the commands of checks everywhere', async () => {
    const stage = openLoadedStage();
    const { stdout, stderr } = await loop(
      stage,
      'x',
      '-m',
      '2',
      '--check',
      'TOKEN=abc123def456 false',
      '--report',
      'json',
    );
    const files = ['state.json', 'iterations.log', 'progress.md'].map((name) =>
      stage.read(`.ralph/loops/it/${name}`),
    );
    expect([stdout, stderr, stage.given(2, 'stdin'), ...files].join('')).not.toContain('abc123');
    expect(files.join('')).toContain('TOKEN=<redacted> false');
  });

  it('shows the hint of a failed check', async () => {
    const stage = openLoadedStage();
    stage.settings({ guardrails: [{ command: 'false', hint: 'Make it true.' }] });
    await loop(stage, 'x', '-m', '2', '--check', 'false');
    await stage.ralph('run', 'x', '--preset', 'architect', '-m', '1', '--baseline', '--', stage.agent).ended;
    expect(stage.given(3, 'stdin')).toContain('### false\nHint: Make it true.\n');
  });

  it('redacts secrets of the environment in reports and progress.md', async () => {
    const stage = openLoadedStage();
    stage.env['MY_API_KEY'] = 'supersecretvalue12345';
    const args = ['x', '-m', '1', '--check', 'echo $MY_API_KEY; false', '--report', 'markdown'];
    const { stdout, stderr } = await loop(stage, ...args);
    expect(stdout).toContain('## Ralph loop');
    expect(`${stdout}${stderr}${stage.read('.ralph/loops/it/progress.md')}`).not.toContain('supersecret');
  });
});
