import { lstatSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, waitFor } from './stage.ts';

const isTaken = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

const architect = ['-p', 'build it', '--preset', 'architect'];
const complete = 'echo COMPLETE';

describe('the architect preset', () => {
  it('S3.1 S3.4 S3.19 S3.23 S3.44 succeeds when every check passes and the agent prints the completion tag (T083)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, `echo first words; ${complete}`);
    stage.plans(2, `: > fixed; ${complete}`);
    const { code, stderr } = await stage.run(...architect, '--check', 'true', '--check', 'test -e fixed');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stderr).toContain('every check passed after the last run');
    expect(stage.state['outcome']).toMatchObject({ type: 'done', verified: true });
    // Files and the prompt are all that the next agent gets from this one.
    expect(stage.given(2, 'env')).toMatch(/^RALPH_ITERATION=2$/m);
    expect(stage.given(2, 'stdin')).not.toContain('first words');
  });

  it('S3.20 S3.30 S3.44 continues while the completion tag is missing or a check fails (T084)', async () => {
    const stage = openLoadedStage();
    const unclaimed = await stage.run(...architect, '-m', '3', '--check', 'true');
    expect({ code: unclaimed.code, calls: stage.calls }).toEqual({ code: 1, calls: 3 });
    expect(stage.read('.ralph/loops/it/progress.md').match(/— PASS/g)).toHaveLength(3);
    expect(stage.journal.some(({ type }) => type.startsWith('claim.'))).toBe(false);

    stage.plans('default', complete);
    const failing = await stage.run(...architect, '-m', '2', '--check', 'false');
    expect({ code: failing.code, calls: stage.calls }).toEqual({ code: 1, calls: 5 });
    expect(stage.journal.filter(({ type }) => type === 'claim.rejected')).toHaveLength(2);
  });

  it('S3.9 completes on COMPLETE, or on the tag of --completion-tag', async () => {
    const stage = openLoadedStage();
    stage.plans('default', 'echo "it is COMPLETE, in other words SHIPPED"');
    expect((await stage.run(...architect, '--check', 'true')).code).toBe(0);
    const chosen = await stage.run(...architect, '--completion-tag', 'SHIPPED', '--check', 'true');
    expect(chosen.code).toBe(0);
    expect(stage.given(2, 'stdin')).toContain('`SHIPPED`');
    const other = await stage.run(...architect, '--completion-tag', 'READY', '-m', '1', '--check', 'true');
    expect(other.code).toBe(1);
  });

  it('S3.53 does not take INCOMPLETE for COMPLETE, nor a longer word for a word of the user', async () => {
    const stage = openLoadedStage();
    stage.plans('default', 'echo "The work is INCOMPLETE and UNSHIPPED."');
    const once = ['-m', '1', '--check', 'true'];
    expect((await stage.run(...architect, ...once)).code).toBe(1);
    expect((await stage.run(...architect, '--completion-tag', 'SHIPPED', ...once)).code).toBe(1);
    stage.settings({ preset: 'architect', completionTag: 'SHIPPED' });
    expect((await stage.run('-p', 'build it', ...once)).code).toBe(1);
    stage.plans('default', 'echo "The work is SHIPPED."');
    expect((await stage.run('-p', 'build it', ...once)).code).toBe(0);
  });

  it('S3.4 S3.52 rejects a loop without checks and starts nothing (T085)', async () => {
    const stage = openLoadedStage();
    const { code, stderr } = await stage.run(...architect);
    expect({ code, calls: stage.calls, loops: stage.loops }).toEqual({ code: 2, calls: 0, loops: [] });
    expect(stderr).toBe(
      'ralph: error: --check is required and must be at least one shell command, such as "npm test" (preset architect ends only when its checks pass)\n',
    );
  });

  it('S3.14 prints only the final result with --quiet (T085)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, `: > fixed; echo working; ${complete}`);
    const { code, stdout, stderr } = await stage.run(...architect, '--quiet', '--check', 'test -e fixed');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).not.toContain('[ralph]');
    expect(stderr.split('\n')[0]).toBe('ralph: it done');
    expect(stderr).toContain('  iterations  2 of 25\n');
  });

  it('S3.25 keeps the last 2000 characters of a check, stdout before stderr (T088)', async () => {
    const stage = openLoadedStage();
    stage.write('out', 'o'.repeat(1500));
    stage.write('err', 'e'.repeat(1500));
    await stage.run(...architect, '-m', '2', '--check', 'cat err >&2; cat out; exit 1');
    const prompt = stage.given(2, 'stdin');
    expect(prompt).toContain(`\`\`\`\n${'o'.repeat(500)}${'e'.repeat(1500)}\n\`\`\``);
    expect(prompt).not.toContain('o'.repeat(501));
  });

  it('S3.8 S3.32 stops after the iteration that exceeds --max-time, without cutting its run short (T090)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'sleep 1.2');
    const { code, stderr } = await stage.run(...architect, '--max-time', '1', '--check', 'false');
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 1 });
    expect(stage.has(1, 'end')).toBe(true);
    expect(stage.state['outcome']).toMatchObject({ type: 'time-exhausted', limitMs: 1000 });
    expect(stderr).toContain('time limit reached: 1 s');
    expect(stage.journal.some(({ type }) => type === 'check.finished')).toBe(true);
  });

  it('S3.21 reports the iteration limit if the last iteration also exceeds --max-time, unless it succeeds (T090)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'sleep 0.3');
    stage.plans(2, `sleep 0.3; ${complete}`);
    const args = ['-m', '1', '--max-time', '200ms', '--check', 'true'];
    expect((await stage.run(...architect, ...args)).code).toBe(1);
    expect(stage.state['outcome']).toMatchObject({ type: 'iterations-exhausted' });
    expect((await stage.run(...architect, ...args)).code).toBe(0);
  });

  it('runs no checks after an agent crash, and reports the crash in the next prompt (T091)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, `${complete}; echo 'no such model: x' >&2; exit 9`);
    stage.plans(2, complete);
    const { code } = await stage.run(...architect, '--check', ': > "$FAKE_PLAN/checked-$RALPH_ITERATION"');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect([stage.hasPlanFile('checked-1'), stage.hasPlanFile('checked-2')]).toEqual([false, true]);
    expect(stage.given(2, 'stdin')).toContain(
      '## Execution Error\n\n```\nagent exited with code 9\n```\n\nThe end of what the agent printed on stderr:\n\n```\nno such model: x\n```',
    );
    expect(stage.read('.ralph/loops/it/progress.md')).toMatch(/^## Iteration 1 — FAIL$/m);
  });

  it('S3.33 names its stop reason in the final report and with --json', async () => {
    const stage = openLoadedStage();
    stage.plans('default', complete);
    const reason = async (...args: readonly string[]): Promise<unknown> => {
      const { stdout, stderr } = await stage.run(...architect, '--json', '--fresh', ...args);
      const reported = /"stop_reason":"(\w+)"/.exec(stdout)?.[1];
      expect(stderr).toContain(`\n  stop_reason ${reported}\n`);
      return reported;
    };
    expect(await reason('--check', 'true')).toBe('all_checks_passed');
    expect(await reason('--check', 'false', '-m', '1')).toBe('max_iterations');
    const looped = ['loop', 'x', '--name', 'l', '--json', '--check', 'false', '-m', '1'];
    const { stdout } = await stage.ralph(...looped, '--', stage.agent).ended;
    expect(JSON.parse(stdout)).toMatchObject({ stop_reason: 'max_iterations' });
    const other = await stage.run('-p', 'x', '--json', '-m', '1', '--fresh');
    expect(`${other.stdout}${other.stderr}`).not.toContain('stop_reason');
  });

  it('S3.27 has its progress file as .architect/ralph-progress.md, which git ignores', async () => {
    const stage = openLoadedStage();
    const link = '.architect/ralph-progress.md';
    const seen = `cat ${link} >"$FAKE_PLAN/seen-$RALPH_ITERATION"; test "$RALPH_ITERATION" = 2`;
    stage.plans('default', complete);
    await stage.run(...architect, '--check', seen);
    expect(stage.read(link)).toMatch(/^## Iteration 1 — FAIL$[^]*^## Iteration 2 — PASS$/m);
    expect(stage.read(link)).toBe(stage.read('.ralph/loops/it/progress.md'));
    expect(readFileSync(`${stage.plan}/seen-2`, 'utf8')).toMatch(/^## Iteration 1 — FAIL\n[^#]*$/);
    expect(stage.git('status', '--porcelain')).toBe('');
    expect(readFileSync(stage.path('.architect/.gitignore'), 'utf8')).toBe(
      '/.gitignore\n/ralph-progress.md\n',
    );
    await stage.ralph('rm', 'it').ended;
    expect(isTaken(stage.path(link))).toBe(false);
  });

  it('S3.27 leaves .architect/ralph-progress.md to a running loop, and a file of the user as it is', async () => {
    const stage = openLoadedStage();
    const link = '.architect/ralph-progress.md';
    stage.plans(1, `${complete}; ${waitFor()}`);
    stage.plans('default', complete);
    const first = stage.starts(...architect, '--check', 'true');
    await stage.waitForCall(1);
    const second = ['run', '--name', 'other', ...architect, '--check', 'true', '--', stage.agent];
    expect((await stage.ralph(...second).ended).code).toBe(0);
    expect(readlinkSync(stage.path(link))).toBe('../.ralph/loops/it/progress.md');
    stage.release();
    await first.ended;
    expect((await stage.ralph(...second).ended).code).toBe(0);
    expect(readlinkSync(stage.path(link))).toBe('../.ralph/loops/other/progress.md');
    rmSync(stage.path(link));
    stage.write(link, 'mine');
    expect((await stage.ralph(...second).ended).code).toBe(0);
    expect(stage.read(link)).toBe('mine');
    await stage.ralph('rm', 'other').ended;
    expect(stage.read(link)).toBe('mine');
    // Other presets have no such folder.
    rmSync(stage.path('.architect'), { recursive: true });
    await stage.run('-p', 'x', '--preset', 'swarm', '-m', '1', '--fresh');
    expect(isTaken(stage.path('.architect'))).toBe(false);
  });

  it('S3.27 S3.28 appends an entry to progress.md for every iteration (T092)', async () => {
    const stage = openLoadedStage();
    const emit = (event: object) => `echo '${JSON.stringify(event)}'`;
    stage.plans(
      1,
      [
        emit({ type: 'tool.start', id: 'a', name: 'Read', input: 'x' }),
        emit({ type: 'tool.end', id: 'a', ok: true, output: '' }),
        emit({ type: 'tool.start', id: 'b', name: 'Edit', input: 'x' }),
        emit({ type: 'tool.end', id: 'b', ok: true, output: '' }),
        emit({ type: 'result', ok: true, text: 'half of it', costUsd: 0.0234 }),
      ].join('\n'),
    );
    stage.plans(2, `: > fixed; ${emit({ type: 'result', ok: true, text: 'COMPLETE', costUsd: 0.01 })}`);
    const checks = [
      '--check',
      'test -e README.md',
      '--check',
      'test -e fixed || { echo; echo no fix; exit 1; }',
    ];
    const { code } = await stage.run(...architect, '--agent', 'scripted', ...checks);
    expect(code).toBe(0);
    expect(stage.read('.ralph/loops/it/progress.md').replaceAll(/\d+\.\ds/g, '#.#s')).toBe(
      [
        '## Iteration 1 — FAIL',
        '',
        '- Steps: 2',
        '- Cost: $0.0234',
        '- Duration: #.#s',
        '- Checks:',
        '  - test -e README.md: PASS',
        '  - test -e fixed || { echo; echo no fix; exit 1; }: FAIL — no fix',
        '',
        '## Iteration 2 — PASS',
        '',
        '- Steps: 0',
        '- Cost: $0.0100',
        '- Duration: #.#s',
        '- Checks:',
        '  - test -e README.md: PASS',
        '  - test -e fixed || { echo; echo no fix; exit 1; }: PASS',
        '',
        '',
      ].join('\n'),
    );
  });

  it('S3.2 S3.29 S3.48 puts task, instructions, diff, failed checks and progress into the second prompt, in this order (T086)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'echo changed >> README.md');
    await stage.run(...architect, '-m', '2', '--check', 'true', '--check', 'echo broken; false');
    const headings = (call: number) => stage.given(call, 'stdin').match(/^##+ .*$/gm);
    expect(headings(1)).toEqual(['## Task', '## Iteration Instructions']);
    expect(headings(2)).toEqual([
      '## Task',
      '## Iteration Instructions',
      '## Changes from Previous Iterations',
      '## Errors from Previous Iteration',
      '### echo broken; false',
      '## Accumulated Progress',
      '## Iteration 1 — FAIL',
    ]);
    const prompt = stage.given(2, 'stdin');
    expect(prompt).toContain('This is **iteration 2/2** of an automatic correction loop.');
    expect(prompt).toContain('\n+changed\n');
    expect(prompt).toContain('```\nbroken\n');
    expect(prompt).not.toContain('.ralph/');
  });

  it('S3.28 S3.50 gives the exit code of a check that prints nothing to the next agent', async () => {
    const stage = openLoadedStage();
    await stage.run(...architect, '-m', '2', '--check', 'exit 3');
    const prompt = stage.given(2, 'stdin');
    expect(prompt).toContain('### exit 3\nIt printed nothing: it failed with exit code 3.\n');
    expect(prompt).toContain('  - exit 3: FAIL — exit 3\n');
  });

  it('S3.49 truncates a long diff, and omits the diff if it is empty or there is no repository (T093 T095)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'head -c 9000 /dev/zero | tr "\\0" x >> README.md; printf "\\377\\376" >> README.md');
    await stage.run(...architect, '-m', '3', '--check', 'false');
    expect(stage.given(2, 'stdin')).toMatch(/x\n\.\.\. \(diff truncated\)\n```/);
    stage.git('checkout', '--quiet', 'README.md');
    await stage.run(...architect, '-m', '2', '--check', 'false');
    expect(stage.given(5, 'stdin')).not.toContain('## Changes');
    const elsewhere = stage.env['HOME'] ?? '';
    const args = ['--name', 'x', '--cwd', elsewhere, '-m', '2', '--check', 'false'];
    expect((await stage.ralph('run', ...architect, ...args, '--', stage.agent).ended).code).toBe(1);
    expect(stage.given(7, 'stdin')).not.toContain('## Changes');
    expect(stage.given(7, 'cwd').trim()).toBe(elsewhere);
  });
});
