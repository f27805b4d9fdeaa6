import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage } from './stage.ts';

const ralphCli = ['-p', 'work', '--preset', 'ralph-cli'];
const done = "echo '<response>DONE</response>'";

describe('guardrails', () => {
  it('S2.45 S2.53 reject the completion response while one fails, and accept it once all pass (T050)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, done);
    stage.plans(2, `: > fixed; ${done}`);
    const { code, stderr } = await stage.run(...ralphCli, '--check', 'test -e fixed');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stderr).toContain('claim rejected');
    expect(stage.given(2, 'last')).toContain('Guardrail "test -e fixed" failed with exit code 1.');
    expect(
      stage.journal.flatMap(({ type, ...event }) => (type === 'check.finished' ? [event['result']] : [])),
    ).toEqual([expect.objectContaining({ code: 1 }), expect.objectContaining({ code: 0 })]);
  });

  it('S2.43 S2.56 S2.60 append a blank line and the failure to the next prompt, byte for byte (T051)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, done);
    const check = "sh -c 'echo boom; exit 3'";
    await stage.run(...ralphCli, '-m', '2', '--check', check);
    expect(stage.given(1, 'last')).toBe('work');
    const log = '.ralph/guardrail_001_sh_c_echo_boom_exit_3.log';
    expect(stage.given(2, 'last')).toBe(
      [
        'work',
        '',
        `Guardrail "${check}" failed with exit code 3.`,
        `Output file: ${log}`,
        'Output (truncated):',
        'boom\n',
      ].join('\n'),
    );
    expect(stage.read(log)).toBe('boom\n');
  });

  it('have logs that take 1 GB in all: the oldest are emptied and say so, across owners', async () => {
    const stage = openLoadedStage();
    // A file with a hole takes no space.
    stage.env['LARGE'] = 'dd if=/dev/null of=/dev/stdout bs=1048576 seek=400 count=0';
    const check = 'if [ "$(cat calls)" = 1 ]; then echo bad; false; else $LARGE 2>/dev/null; fi';
    stage.plans('default', 'echo "$RALPH_ITERATION" >calls');
    await stage.run('-p', 'work', '-m', '3', '--check', check);
    const shown = (iteration: number) => {
      const [name = ''] = readdirSync(stage.file(`runs/000${iteration}/checks`));
      const path = `runs/000${iteration}/checks/${name}`;
      const { size } = statSync(stage.file(path));
      return { size, text: size > 1000 ? '' : readFileSync(stage.file(path), 'utf8'), path };
    };
    const large = 400 * 2 ** 20;
    expect([2, 3].map((iteration) => shown(iteration).size)).toEqual([large, large]);
    await stage.ralph('resume', 'it', '-m', '4').ended;
    expect([3, 4].map((iteration) => shown(iteration).size)).toEqual([large, large]);
    expect(shown(1).text).toBe('bad\n');
    const { path, text } = shown(2);
    expect(text).toBe(
      '[emptied by ralph: the logs of the checks of this loop took more than 1 GB; this one had 400 MB]\n',
    );
    expect(readFileSync(join(stage.files('it').workspaceFolder, path), 'utf8')).toBe(text);
  });

  it('S2.55 run in a shell in the workspace', async () => {
    const stage = openLoadedStage();
    stage.plans(1, done);
    const check = `test "$(pwd)" = "${stage.workspace}" && for i in 1 2; do echo $i; done | grep -q 2`;
    expect((await stage.run(...ralphCli, '--check', check)).code).toBe(0);
  });

  it('S2.48 report a failure in the next prompt only (T054)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, ': > fixed');
    stage.plans(3, done);
    const { code } = await stage.run(...ralphCli, '--check', 'test -e fixed');
    expect(code).toBe(0);
    expect(stage.given(2, 'last')).toContain('Guardrail "test -e fixed" failed with exit code 1.');
    expect(stage.given(3, 'last')).toBe('work');
  });

  it('S2.58 show their first 5000 characters, with a mark only if the output was truncated (T055)', async () => {
    const stage = openLoadedStage();
    // The limit counts characters, not bytes, and splits none of them.
    stage.write('exact', '€'.repeat(5000));
    stage.write('more', `${'€'.repeat(4999)}😀!`);
    await stage.run(...ralphCli, '-m', '2', '--check', 'cat exact; false', '--check', 'cat more; false');
    const [, exact = '', more = ''] = stage.given(2, 'last').split('Output (truncated):\n');
    expect(exact).toBe(
      `${'€'.repeat(5000)}\n\nGuardrail "cat more; false" failed with exit code 1.\nOutput file: .ralph/guardrail_001_cat_more_false.log\n`,
    );
    expect(more).toBe(`${'€'.repeat(4999)}😀... [truncated]`);
  });

  it('without a hint add no hint line (T055)', async () => {
    const stage = openLoadedStage();
    await stage.run(...ralphCli, '-m', '2', '--check', 'false');
    expect(stage.given(2, 'last')).not.toContain('Hint:');
  });

  it('S3.26 all run, in order, and each keeps a log, also if it passes (T060)', async () => {
    const stage = openLoadedStage();
    const checks = ['echo one; false', 'echo two >&2', 'echo three; exit 7'];
    const { stderr } = await stage.run(
      ...ralphCli,
      '-m',
      '1',
      ...checks.flatMap((check) => ['--check', check]),
    );
    const finished = stage.journal.flatMap(({ type, ...event }) =>
      type === 'check.finished' ? [event] : [],
    );
    expect(finished.map(({ command }) => command)).toEqual(checks);
    const logs = '.ralph/loops/it/runs/0001/checks';
    expect(stage.read(`${logs}/echo_one_false.log`)).toBe('one\n');
    expect(stage.read(`${logs}/echo_two_2.log`)).toBe('two\n');
    expect(stage.read(`${logs}/echo_three_exit_7.log`)).toBe('three\n');
    expect(stderr).toContain('check failed: echo one; false (exit 1');
    expect(stderr).toContain('check passed: echo two >&2');
    expect(stderr).toContain('check failed: echo three; exit 7 (exit 7');
  });

  it('S2.62 S2.63 name their logs after the command: letters and digits, `_` between, at most 50 characters (T058)', async () => {
    const stage = openLoadedStage();
    const checks = ['./mvnw clean install -T 2C', `true ${'very '.repeat(20)}long`, 'true', '(true)'];
    await stage.run(...ralphCli, '-m', '1', ...checks.flatMap((check) => ['--check', check]));
    const names = readdirSync(stage.file('runs/0001/checks')).toSorted();
    const beside = readdirSync(stage.path('.ralph')).filter((name) => name.startsWith('guardrail_'));
    expect(beside.toSorted()).toEqual(names.map((name) => `guardrail_001_${name}`));
    expect(names).toEqual(
      [
        'mvnw_clean_install_T_2C.log',
        `${`true_${'very_'.repeat(20)}`.slice(0, 50)}.log`,
        'true.log',
        'true_1.log',
      ].toSorted(),
    );
  });

  it('S3.24 that time out are killed with their child processes, and their log says Timeout', async () => {
    const stage = openLoadedStage();
    const args = ['--check', 'echo begun; sleep 300 & sleep 300', '--check-timeout', '300ms'];
    const { code, stderr } = await stage.run('-p', 'work', '--preset', 'architect', '-m', '1', ...args);
    expect(code).toBe(1);
    expect(stderr).toContain('(Timeout, ');
    expect(stage.read('.ralph/loops/it/runs/0001/checks/echo_begun_sleep_300_sleep_300.log')).toMatch(
      /^begun\n(?:Terminated\n)?\nTimeout/,
    );
    expect(stage.running).toEqual([]);
  });
});
