/** `ralph spawn` and the life of its loops in the background (document 003). */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, openStage, waitFor } from './stage.ts';

describe('spawn', () => {
  it('S4.2 S4.3 S4.5 S4.88 refuses what is missing or invalid with the documented texts and exit code 1 (T100 T127)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'work');
    const file = ['--prompt-file', 'PROMPT.md'];
    const limit = ['--max-iterations', '3'];
    const command = ['--', stage.agent];
    const refusals: readonly (readonly [readonly string[], RegExp])[] = [
      [['--ralph', ...limit, ...command], /^--ralph requires --prompt-file\n$/],
      [['--ralph', '', ...limit, ...command], /^--ralph requires --prompt-file\n$/],
      [['--ralph', ...file, ...command], /^--ralph requires --max-iterations\n$/],
      [['--prompt-file', './missing.md', ...limit, ...command], /^prompt file not found: \.\/missing\.md\n$/],
      [['--prompt-file', '.git', ...limit, ...command], /^prompt file not found: \.git \(.*folder.*\)\n$/],
      [[...file, ...limit], /^no command provided \(use -- command\.\.\.\)\n$/],
      [[...file, ...limit, '--env', 'BAD', ...command], /^invalid env format 'BAD' \(expected KEY=VAL\)\n$/],
      [[...file, '--max-iterations', 'many', ...command], /^--max-iterations must be a whole number/],
      [[...file, ...limit, '--branch', 'b', ...command], /^--branch requires --worktree\n$/],
      [
        [...file, ...limit, '--worktree', '--cwd', 'outside', ...command],
        /^not in a git repository \(required for --worktree\)\n/,
      ],
      [[...file, ...limit, '--no-such-option', ...command], /^unknown option '--no-such-option'/],
    ];
    mkdirSync(stage.path('outside'));
    rmSync(stage.path('.git'), { recursive: true });
    mkdirSync(stage.path('.git'));
    for (const [args, text] of refusals) {
      // oxlint-disable-next-line no-await-in-loop -- together each would need a process
      const { code, stdout, stderr } = await stage.ralph('spawn', '--name', 'it', '--no-tmux', ...args).ended;
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
      expect(stderr.replace(/^ralph: error: /, '')).toMatch(text);
    }
    expect((await stage.ralph('spawn', ...file, ...limit, ...command).ended).code).toBe(1);
    expect([stage.loops, stage.calls]).toEqual([[], 0]);
  });

  it('names TASK and not --ralph where that flag was not typed', async () => {
    const stage = openLoadedStage();
    const usage = 'ralph spawn --name NAME TASK --max-iterations N -- COMMAND';
    for (const [args, text] of [
      [['-m', '3'], `TASK or --prompt-file is required: ${usage}`],
      [['work'], `--max-iterations is required: ${usage}`],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- together each would need a process
      const { code, stderr } = await stage.spawns(...args).ended;
      expect({ code, stderr }).toEqual({ code: 1, stderr: `ralph: error: ${text}\n` });
    }
  });

  it('prints the command line that it starts, unless --quiet is given', async () => {
    const stage = openLoadedStage();
    stage.installs('claude');
    const spawn = (name: string, ...args: readonly string[]) =>
      stage.ralph('spawn', '--name', name, '--no-tmux', 'work', '-m', '1', ...args).ended;
    const plain = await spawn('a', '--', 'claude', '--model', 'opus');
    expect(plain).toMatchObject({ code: 0, stdout: 'spawned a [ralph mode: iteration 1/1]\n' });
    expect(plain.stderr).toMatch(/^\[ralph\] Agent command: .*claude -p .*--model opus$/m);
    const waiting = await spawn('b', '--wait', '--', 'claude');
    expect(waiting.stderr).toMatch(/^\[ralph\] Agent command: .*claude -p .*--verbose/m);
    expect((await spawn('c', '--quiet', '--', 'claude')).stderr).not.toContain('Agent command');
    expect((await stage.ralph('wait', '--all').ended).code).toBe(0);
  });

  it('S4.6 S4.25 S4.71 S4.88 starts named loops in the background, and a second one of the same name only after the first has ended (T101 T116 T127)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'from here');
    mkdirSync(stage.path('elsewhere'));
    stage.plans('default', waitFor());
    const args = ['--prompt-file', './PROMPT.md', '--cwd', 'elsewhere', '--env', 'COLOUR=blue'];
    const many = await stage.spawns(...args, '--ralph', '-d', '--ready-wait', '--max-iterations', '51').ended;
    expect(many).toMatchObject({ code: 0, stdout: 'spawned it [ralph mode: iteration 1/51]\n' });
    expect(many.stderr).toContain(
      'ralph: warning: high iteration count (>50) may consume significant resources\n',
    );
    await stage.waitForCall(1);
    expect([stage.given(1, 'stdin'), stage.given(1, 'cwd').trim()]).toEqual([
      'from here',
      stage.path('elsewhere'),
    ]);
    expect(stage.given(1, 'env')).toContain('COLOUR=blue\n');

    const taken = await stage.spawns(...args, '-m', '1').ended;
    expect(taken).toMatchObject({ code: 1, stdout: '' });
    expect(taken.stderr).toMatch(
      /^ralph: error: worker 'it' already exists\nThe loop "it" is already running/,
    );
    const other = stage.ralph('spawn', '--name', 'it-2', '--no-tmux', ...args, '-m', '50', '--', stage.agent);
    expect(await other.ended).toMatchObject({
      code: 0,
      stdout: 'spawned it-2 [ralph mode: iteration 1/50]\n',
    });
    expect(other.stderr).not.toContain('high iteration count');
    await stage.waitForCall(2);

    const killed = await stage.ralph('kill', 'it', '--cwd', 'elsewhere').ended;
    expect(killed).toMatchObject({ code: 0, stdout: 'killed it\n' });
    expect((await stage.ralph('status', 'it-2', '--cwd', 'elsewhere').ended).code).toBe(0);
    // The agents of later calls end at once; the one of it-2 works on.
    stage.plans('default', 'true');
    const again = await stage.spawns(...args, '-m', '1').ended;
    expect(again).toMatchObject({ code: 0, stdout: 'spawned it [ralph mode: iteration 1/1]\n' });
    expect((await stage.ralph('wait', 'it', '--cwd', 'elsewhere').ended).stdout).toBe('it: exited\n');
    expect((await stage.ralph('kill', '--all', '--cwd', 'elsewhere').ended).stdout).toBe('killed it-2\n');
  });

  it('S4.1 S4.68 S4.69 S4.78 S4.89 --wait shows the loop and exits as it does (T125)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'first');
    stage.plans(1, 'printf second > PROMPT.md');
    const line = (more: string): string =>
      `$RALPH spawn --name it --no-tmux -f PROMPT.md --wait ${more} -- ${stage.agent} && echo complete || echo failed`;
    const good = await stage.shell(line('-m 2')).ended;
    expect(good.stdout).toMatch(/^spawned it \[ralph mode: iteration 1\/2\]\n[^]*complete\n$/);
    const lines = good.stderr.split('\n').filter((text) => text.startsWith('[ralph] it: '));
    expect(lines.slice(-5)).toEqual([
      '[ralph] it: starting iteration 1/2',
      '[ralph] it: iteration 1 completed (exit: 0, duration: 0s)',
      '[ralph] it: starting iteration 2/2',
      '[ralph] it: iteration 2 completed (exit: 0, duration: 0s)',
      '[ralph] it: loop complete after 2 iterations',
    ]);
    expect(stage.given(2, 'stdin')).toBe('second');
    const records: unknown = JSON.parse((await stage.ralph('ls', '--format', 'json').ended).stdout);
    expect(records).toMatchObject([{ name: 'it', metadata: { ralph: true, ralph_iteration: 2 } }]);
    stage.plans('default', 'exit 1');
    const bad = await stage.shell(line('-m 9 --max-failures 1')).ended;
    expect(bad.stdout).toMatch(/failed\n$/);
    expect(stage.log).toMatch(/FAIL.*\n.*complete/);
  });

  it('S4.68 --ralph waits and exits as the loop does, and with --detach returns once the loop runs (T125)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'work');
    stage.plans(1, 'echo All tasks complete');
    const line = (...more: readonly string[]): string => {
      const options = ['--ralph', '--prompt-file', './PROMPT.md', '--max-iterations', '9', ...more];
      return `$RALPH spawn --name it --no-tmux ${options.join(' ')} -- ${stage.agent} && echo complete || echo failed`;
    };
    const good = await stage.shell(line('--done-pattern', "'All tasks complete'")).ended;
    expect(good.stdout).toBe('spawned it [ralph mode: iteration 1/9]\nAll tasks complete\ncomplete\n');
    stage.plans('default', 'exit 1');
    expect((await stage.shell(line('--max-failures', '1')).ended).stdout).toMatch(/\nfailed\n$/);
    stage.plans(3, waitFor());
    const left = await stage.shell(line('--detach', '--max-failures', '1')).ended;
    expect(left.stdout).toBe('spawned it [ralph mode: iteration 1/9]\ncomplete\n');
    await stage.waitForCall(3);
    stage.release();
    await stage.ralph('wait', 'it').ended;
    expect(stage.state['status']).toBe('failed');
    const both = await stage.spawns('work', '-m', '1', '--wait', '--detach').ended;
    expect(both).toMatchObject({ code: 1, stdout: '' });
    expect(both.stderr).toContain('cannot use --wait with --detach; drop one of them');
  });

  it('--wait only detaches on Ctrl-C, and the loop continues', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    const ralph = stage.spawns('work', '-m', '1', '--wait');
    await stage.waitForCall(1);
    await ralph.until('spawned it', 'stdout');
    await ralph.until('starting iteration 1/1');
    ralph.signal('SIGINT');
    const { code, stderr } = await ralph.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('ralph: detached from it, which continues in the background\n');
    expect((await stage.ralph('status', 'it').ended).code).toBe(0);
    stage.release();
    expect((await stage.ralph('wait', 'it').ended).code).toBe(0);
    expect(stage.has(1, 'end')).toBe(true);
  });
});

describe('a spawned loop', () => {
  it('S4.35 S4.36 S4.39 S4.43 S4.79 pauses after the current agent, and resume gives it back to the daemon (T109 T111)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, waitFor());
    await stage.spawns('work', '-m', '2').ended;
    await stage.waitForCall(1);
    const resumed = await stage.ralph('resume', 'it').ended;
    expect(resumed).toMatchObject({ code: 0, stderr: "ralph: warning: worker 'it' is not paused\n" });
    expect((await stage.ralph('pause', 'it').ended).stdout).toBe('paused ralph loop for it\n');
    stage.release();
    const paused = await stage.ralph('wait', 'it').ended;
    expect(paused).toMatchObject({ code: 0, stdout: 'it: paused; continue it with: ralph resume it\n' });
    expect(stage.state).toMatchObject({ status: 'paused', current_iteration: 1 });
    expect(await stage.ralph('resume', 'it').ended).toMatchObject({
      code: 0,
      stdout: 'resumed ralph loop for it\n',
    });
    expect((await stage.ralph('wait', 'it').ended).stdout).toBe('it: exited\n');
    expect(stage.calls).toBe(2);
    expect(stage.state).toMatchObject({ status: 'stopped', current_iteration: 2 });
    expect(await stage.ralph('resume', 'it').ended).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'ralph: error: loop it has reached its iteration limit; raise it with: ralph resume it -m 4\n',
    });
  });

  it('S4.74 S4.103 works in its worktree, which all iterations share (T123)', async () => {
    const stage = openLoadedStage();
    stage.identifies();
    stage.plans(1, 'echo one > work; git add work; git commit -qm one');
    stage.plans(2, 'git log --format=%s > "$FAKE_CALL/log"');
    const spawned = await stage.spawns('work', '-m', '2', '--worktree', '--wait').ended;
    expect(spawned.code).toBe(0);
    const [first, second] = [1, 2].map((call) => stage.given(call, 'cwd').trim());
    expect([first, second]).toEqual([`${stage.workspace}-worktrees/it`, first]);
    expect(stage.given(2, 'log')).toBe('one\nbegin\n');
    expect(stage.git('log', '--format=%s', 'it')).toBe('one\nbegin\n');
    stage.git('branch', 'mine');
    stage.plans(3, 'echo two > two; git add two; git commit -qm two');
    const args = ['--name', 'it-2', 'work', '-m', '1', '--worktree', '--worktree-dir', '../trees'];
    const onMine = [...args, '--branch', 'mine', '--wait', '--', stage.agent];
    const users = await stage.ralph('spawn', ...onMine).ended;
    expect(users.code).toBe(0);
    expect(users.stderr).toContain('works on the existing branch mine, which stays');
    expect(stage.given(3, 'cwd').trim()).toBe(stage.path('../trees/it-2'));
    expect(stage.git('log', '--format=%s', 'mine')).toBe('two\nbegin\n');
    // Another loop of the name continues the branch; its commits are not lost with the worktree.
    expect((await stage.ralph('spawn', ...onMine).ended).code).toBe(0);
    const removed = await stage.ralph('kill', 'it-2', '--rm-worktree').ended;
    expect(removed).toMatchObject({ code: 0, stdout: `removed ${stage.path('../trees/it-2')}\n` });
    expect(stage.git('log', '--format=%s', 'mine')).toBe('two\nbegin\n');
    expect(stage.git('config', '--list')).not.toMatch(/^branch\.mine\.ralph/im);
    const invalid = await stage.ralph('spawn', ...args, '--branch', 'a..b', '--', stage.agent).ended;
    expect(invalid.code).toBe(1);
    expect(invalid.stderr).toMatch(/^ralph: error: failed to create worktree: .*a\.\.b/m);
    const elsewhere = await stage.ralph(
      'spawn',
      ...args,
      '--branch',
      'new/{name}',
      '--wait',
      '--',
      stage.agent,
    ).ended;
    expect(elsewhere.code).toBe(0);
    expect(stage.given(5, 'cwd').trim()).toBe(stage.path('../trees/it-2'));
    expect(stage.git('branch', '--list', 'new/it-2')).toContain('new/it-2');
    expect(existsSync(stage.path('../trees/it-2'))).toBe(true);
  });
});
