/** What Ralph prints about a loop. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, waitFor } from './stage.ts';
import { done, openRepository, runs, sibling, work } from './worktree-stage.ts';

const task = ['-p', 'x'];
const count = (text: string, words: string): number => text.split(words).length - 1;

describe('a check', () => {
  it('that completes the loop alone is not reported as a claim', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'echo hi');
    const { code, stderr } = await stage.run(...task, '--until', 'checks', '--check', 'true');
    expect(code).toBe(0);
    expect(stderr).toContain('[ralph] it: every check passed\n');
    expect(stderr).toContain('result      done: every check passed after the last run\n');
    expect(stderr).not.toContain('claim');
  });

  it('that fails shows its last lines without secrets, and its fail action only with --verbose', async () => {
    const stage = openLoadedStage();
    stage.env['API_KEY'] = 'my-very-secret-key';
    const check = `seq 9; printf '\\033[31mkey %s\\033[0m\\n' "$API_KEY"; exit 1`;
    const { stderr } = await stage.run(...task, '-m', '1', '--check', check);
    expect(stderr).toMatch(
      /check failed: .* \(exit 1, \d\.\ds\) — .*\.log\n {2}\| {2}6\n {2}\| {2}7\n {2}\| {2}8\n {2}\| {2}9\n {2}\| {2}key <redacted>\n/,
    );
    expect((await stage.run(...task, '-m', '1', '--verbose', '--check', 'false')).stderr).toContain(
      '(exit 1, action=APPEND, ',
    );
    const quiet = await stage.run(...task, '-m', '1', '--quiet', '--check', check);
    expect(quiet.stderr).not.toContain('  |  ');
  });

  it('whose command is missing says so, and in a worktree suggests a set-up once', async () => {
    const stage = openRepository();
    stage.write('script', 'true');
    const checks = ['--check', 'no-such-command', '--check', './script'];
    const here = await stage.run(...task, '-m', '1', ...checks);
    expect(here.stderr).toContain('check failed: no-such-command (exit 127: command not found, ');
    expect(here.stderr).toContain('failing     no-such-command (exit 127: command not found)');
    expect(here.stderr).toContain('check failed: ./script (exit 126: not executable, ');
    expect(here.stderr).not.toContain('"setup"');
    const there = await stage.run(...task, '-m', '2', '--worktree', ...checks);
    expect(count(there.stderr, 'exit 127: command not found, ')).toBeGreaterThan(1);
    expect(count(there.stderr, '"setup": ["npm ci"]')).toBe(1);
    stage.settings({ setup: ['true'] });
    const prepared = await stage.run(...task, '-m', '1', '--worktree', '--fresh', ...checks);
    expect(prepared.stderr).not.toContain('"setup"');
  });

  it('that passes without a claim causes a note about --until checks', async () => {
    const stage = openLoadedStage();
    stage.plans(3, done);
    const green = await stage.run(...task, '-m', '1', '--check', 'true');
    expect(green.stderr).toContain(
      'note        every check passed, but the agent did not claim in the required form that it is done',
    );
    expect(green.stderr).toContain('--until checks');
    expect((await stage.run(...task, '-m', '1', '--check', 'false')).stderr).not.toContain('--until');
    expect((await stage.run(...task, '-m', '1', '--check', 'true')).stderr).not.toContain('--until');
    stage.plans(5, 'exit 1');
    // The last iteration failed, so the results are those of the first one.
    const failed = await stage.run(...task, '-m', '2', '--check', 'true');
    expect({ calls: stage.calls, told: failed.stderr.includes('--until') }).toEqual({
      calls: 5,
      told: false,
    });
  });
});

describe('a worktree', () => {
  it('is named when the loop starts, and every end prints the merge command', async () => {
    const stage = openRepository();
    stage.plans(1, 'echo 1 >work');
    stage.plans(2, 'rm work');
    const clean = await runs(stage, '-m', '1');
    expect(clean.stderr).toContain(`[ralph] it: working in ${sibling(stage)} (branch ralph/it)\n`);
    expect(clean.stderr.indexOf('working in')).toBeLessThan(clean.stderr.indexOf('starting iteration'));
    expect(clean.stderr).toContain('merge       ralph worktree merge it\n');
    expect(clean.stderr).not.toContain('uncommitted changes stay there');
    const dirty = await stage.ralph('resume', 'it', '-m', '2').ended;
    expect(dirty.stderr).toContain('working in');
    expect(dirty.stderr).toContain('uncommitted changes stay there\n  merge       ralph worktree');
  });

  it('whose set-up fails reports the reason once', async () => {
    const stage = openRepository({ setup: ['echo no network; exit 3'] });
    const { code, stderr } = await runs(stage);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^ralph: error: set-up failed: .* \(exit code 3\): no network — /m);
    expect(count(stderr, 'set-up failed')).toBe(1);
  });
});

describe('a commit', () => {
  const scm = { scm: { command: 'git', tasks: ['commit'] } };

  it('is reported with its subject, without the output of the agent that wrote the message', async () => {
    const stage = openRepository(scm);
    stage.plans(1, 'echo 1 >work; echo 2 >other; echo at work');
    stage.plans(2, 'echo a long talk >&2; echo Make the work');
    const { stdout, stderr } = await stage.run(...task, '-m', '1');
    expect(stdout).toBe('at work\n');
    expect(stderr).toContain('asking the agent for a commit message\n');
    expect(stderr).toMatch(/\[ralph\] it: committed [0-9a-f]{7}: Make the work \(2 files\) on branch \w+\n/);
    expect(stderr).not.toContain('a long talk');
    expect(readFileSync(stage.file('runs/0001.2/stderr.log'), 'utf8')).toBe('a long talk\n');
  });

  it('that cannot be pushed is reported with the cause', async () => {
    const stage = openRepository({ scm: { command: 'git', tasks: ['commit', 'push'] } });
    stage.plans(1, 'echo 1 >work');
    stage.plans(2, 'echo Make the work');
    const { stderr } = await stage.run(...task, '-m', '1');
    expect(stderr).toContain(
      'SCM task "push" failed: exit code 128: fatal: No configured push destination.\n',
    );
  });

  it('that fails is reported in its column of the summary', async () => {
    const stage = openRepository(scm);
    stage.plans(1, 'echo 1 >work');
    stage.plans(2, 'exit 0');
    const { stderr } = await stage.run(...task, '-m', '1');
    expect(stderr).toContain('\n  uncommitted agent did not provide a valid commit message\n');
  });
});

describe('a loop', () => {
  it('reports changed limits in words, and a resume once', async () => {
    const stage = openLoadedStage();
    stage.plans(1, waitFor());
    const first = stage.starts(...task, '-m', '2');
    await stage.waitForCall(1);
    await stage.ralph('set', 'it', 'max-iterations=3', 'max-time=1h').ended;
    await stage.ralph('pause', 'it').ended;
    stage.release();
    const paused = await first.ended;
    expect(paused.stderr).toContain('limits changed: at most 3 iterations, at most 1h 0m of active time\n');
    stage.plans(2, done);
    const { stderr } = await stage.ralph('resume', 'it').ended;
    expect(stderr).toContain('[ralph] it: resumed\n');
    expect(stderr).not.toMatch(/reattached|continuing at/);
  });

  it.each([
    ['run', '-p', 'x', '--preset', 'ralph-cli'],
    ['run', 'x'],
    ['loop', 'x'],
  ])('S2.87 starts every line with the time, also of the final report: ralph %s %s', async (...args) => {
    const stage = openLoadedStage();
    const more = ['--name', 'it', '-m', '1', '--timestamps', '--check', 'echo no; exit 1', '--', stage.agent];
    const { stderr } = await stage.ralph(...args, ...more).ended;
    const lines = stderr.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.filter((line) => !/^\[\d\d:\d\d:\d\d\] /.test(line))).toEqual([]);
    expect(stderr).toMatch(/^\[\d\d:\d\d:\d\d\]   iterations  1 of 1/m);
  });

  it('prefixes its own lines with the time if --timestamps is given', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'echo at work');
    const args = [...task, '-m', '1', '--timestamps', '--verbose', '--check', 'echo no; exit 1'];
    const { stdout, stderr } = await stage.run(...args);
    expect(stdout).toMatch(/^\[\d\d:\d\d:\d\d\] at work\n$/);
    const own = stderr.split('\n').filter((line) => /\[ralph\]|\|/.test(line));
    expect(own.length).toBeGreaterThan(5);
    expect(own.filter((line) => !/^\[\d\d:\d\d:\d\d\] (?:\[ralph\] | {2}\| {2}no)/.test(line))).toEqual([]);
  });

  it('ends the last line on stdout with a newline', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'printf almost');
    stage.plans(2, `printf '%s' '<promise>DONE</promise>'`);
    expect(await stage.run(...task)).toMatchObject({ code: 0, stdout: 'almost\n<promise>DONE</promise>\n' });
    stage.plans(3, work);
    expect(await stage.run(...task)).toMatchObject({ stdout: '<promise>DONE</promise>\n' });
  });
});
