import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, openStage, waitFor } from './stage.ts';

const work = ['-p', 'work'];
const promise = "echo '<promise>DONE</promise>'";

describe('the default preset', () => {
  const claims = {
    'a promise': promise,
    'a response tag': "echo '<response>DONE</response>'",
    'a DONE file': ': > "$RALPH_DONE_FILE"',
  };

  for (const [claim, script] of Object.entries(claims)) {
    it(`accepts ${claim} as a claim (T147)`, async () => {
      const stage = openLoadedStage();
      stage.plans(2, script);
      const { code, stderr } = await stage.run(...work);
      expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
      expect(stderr).toContain('unverified');
    });

    it(`rejects ${claim} while a check fails, and accepts it once the check passes (T147)`, async () => {
      const stage = openLoadedStage();
      stage.plans('default', script);
      const failing = await stage.run(...work, '-m', '2', '--check', 'false');
      expect({ code: failing.code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
      expect(failing.stderr).toContain('2 claims to be done, contradicted by checks');
      const passing = await stage.run(...work, '--check', 'true');
      expect({ code: passing.code, calls: stage.calls }).toEqual({ code: 0, calls: 3 });
      expect(stage.state['outcome']).toMatchObject({ type: 'done', verified: true });
    });
  }

  it('ignores a promise that is quoted, in a code block or in the echoed prompt', async () => {
    const stage = openLoadedStage();
    stage.plans(
      'default',
      [
        'cat "$FAKE_CALL/stdin"',
        "echo 'I will not say <promise>DONE</promise> yet.'",
        "printf '%s\\n' '```' '<promise>DONE</promise>' '```'",
        "echo '> <promise>DONE</promise>'",
      ].join('\n'),
    );
    const { code } = await stage.run('-p', 'say <promise>DONE</promise> at the end', '-m', '2');
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
    expect(stage.given(1, 'stdin')).toContain('<promise>DONE</promise>');
    expect(stage.given(1, 'stdin')).not.toMatch(/^<promise>DONE<\/promise>$/m);
  });

  it('completes on passing checks alone with --until checks', async () => {
    const stage = openLoadedStage();
    stage.plans(2, ': > fixed');
    const { code } = await stage.run(...work, '--until', 'checks', '--check', 'test -e fixed');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
  });
});

describe('the iteration limit', () => {
  const codes = { default: 1, conductor: 1, 'ralph-cli': 1, architect: 1, swarm: 0 };

  for (const [preset, code] of Object.entries(codes)) {
    it(`ends the preset ${preset} with exit code ${code} if the agent makes no claim (T145)`, async () => {
      const stage = openLoadedStage();
      const checks = preset === 'architect' ? ['--check', 'true'] : [];
      const args = ['--preset', preset, '-m', '2', '--restart-delay', '0', ...checks];
      const ended = await stage.run(...work, ...args);
      expect({ code: ended.code, calls: stage.calls }).toEqual({ code, calls: 2 });
      const words: Readonly<Record<string, string>> = {
        conductor: 'max restarts exceeded',
        'ralph-cli': 'Maximum iterations reached without completion response.',
      };
      expect(ended.stderr).toContain(words[preset] ?? 'iteration limit reached: 2');
      expect(stage.state['outcome']).toEqual({ type: 'iterations-exhausted', limit: 2 });
    });
  }
});

describe('a signal', () => {
  it('lets the agent finish, and a second one kills it; both exit 130 (T073)', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    const gentle = stage.starts(...work);
    await stage.waitForCall(1);
    gentle.signal('SIGINT');
    await gentle.until('received SIGINT, finishing the running step');
    stage.release();
    expect((await gentle.ended).code).toBe(130);
    expect(stage.has(1, 'end')).toBe(true);

    stage.plans(2, `trap '' INT TERM; echo deaf; ${waitFor('never')}`);
    const firm = stage.starts(...work, '--kill-grace', '300ms');
    await firm.until('deaf', 'stdout');
    firm.signal('SIGINT');
    await firm.until('received SIGINT, finishing the running step');
    expect(stage.running).not.toEqual([]);
    firm.signal('SIGINT');
    expect((await firm.ended).code).toBe(130);
    expect(stage.running).toEqual([]);
    expect(stage.has(2, 'end')).toBe(false);
  });
});

describe('ralph run', () => {
  it('rejects the name of a running loop, names its owner and does not disturb it (T148)', async () => {
    const stage = openStage();
    stage.plans(1, `${waitFor()}; ${promise}`);
    const first = stage.starts(...work);
    await stage.waitForCall(1);
    for (const args of [work, [...work, '--fresh']]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const second = await stage.run(...args);
      expect(second.code).toBe(2);
      expect(second.stderr).toMatch(
        new RegExp(`^ralph: error: the loop "it" is already running \\(process ${first.pid}\\);.*\n$`),
      );
    }
    stage.release();
    expect((await first.ended).code).toBe(0);
    expect(stage.calls).toBe(1);
  });

  it('rejects the name of a loop whose owner was killed, and resume continues that loop (T148)', async () => {
    const stage = openStage();
    stage.plans(1, `${waitFor()}; ${promise}`);
    const first = stage.starts(...work);
    await stage.waitForCall(1);
    first.signal('SIGKILL');
    await first.ended;
    const again = await stage.run(...work);
    expect(again.code).toBe(2);
    expect(again.stderr).toMatch(
      /^ralph: error: the loop "it" is not finished, and its agent \(process \d+\) still works on these files; continue it with: ralph resume it,.*\n$/,
    );
    const resumed = stage.ralph('resume', 'it');
    await stage.waitForEvents('owner.changed');
    stage.release();
    expect((await resumed.ended).code).toBe(0);
    expect(stage.calls).toBe(1);
  });

  it('replaces a loop with --fresh after its owner died: it kills the orphaned agent and keeps the old journal (T148)', async () => {
    const stage = openStage();
    stage.plans(1, waitFor('never'));
    stage.plans(2, promise);
    const first = stage.starts(...work);
    await stage.waitForCall(1);
    first.signal('SIGKILL');
    await first.ended;
    expect((await stage.run(...work, '--fresh')).code).toBe(0);
    expect(stage.running).toEqual([]);
    const [archived = ''] = stage.archive.map((loop) => readFileSync(`${loop}/journal.jsonl`, 'utf8'));
    expect(archived).toContain('"loop.created"');
    expect(existsSync(stage.path('.ralph/archive/it-1/state.json'))).toBe(true);
  });
});

describe('a loop', () => {
  const line = '$RALPH run -p work --name it -- "$AGENT"';
  const printLines = `i=0; while [ $i -lt 200 ]; do echo "line $i of many, long enough to fill a pipe"; i=$((i+1)); done`;

  it('runs with a closed stdin (T149)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, promise);
    expect((await stage.shell(`${line} <&-`, { AGENT: stage.agent }).ended).code).toBe(0);
  });

  it('runs with a closed stdout and stderr (T149)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, `${printLines}; ${promise}`);
    expect((await stage.shell(`${line} >&- 2>&-`, { AGENT: stage.agent }).ended).code).toBe(0);
    expect(stage.state['outcome']).toMatchObject({ type: 'done' });
  });

  it('runs to its end when the reader of its output closes the pipe (T149)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, printLines);
    stage.plans(2, `${printLines}; ${promise}`);
    const piped = `{ ${line} 2>&1; echo $? > "$FAKE_PLAN/code"; } | head -n 1`;
    const { stdout } = await stage.shell(piped, { AGENT: stage.agent }).ended;
    expect(stdout.split('\n')).toHaveLength(2);
    await stage.waitForFile(`${stage.plan}/code`);
    expect(readFileSync(`${stage.plan}/code`, 'utf8')).toBe('0\n');
    expect(stage.calls).toBe(2);
    expect(stage.state['outcome']).toMatchObject({ type: 'done' });
  });

  it('keeps its exit code when the reader of its output exits at once (T149)', async () => {
    const stage = openLoadedStage();
    const piped = `{ ${line.replace('--name', '-m 1 --name')}; echo "code $?" >&2; } | true`;
    stage.plans(1, printLines);
    const { stderr } = await stage.shell(piped, { AGENT: stage.agent }).ended;
    expect(stderr).toContain('code 1\n');
  });

  it('runs in a terminal without columns (T149)', { tags: ['script'] }, async () => {
    const stage = openLoadedStage();
    stage.plans(1, promise);
    const quoted = `stty cols 0 rows 0; ${line}`;
    const { code, stdout } = await stage.shell(`script --quiet --return --command '${quoted}' /dev/null`, {
      AGENT: stage.agent,
      TERM: 'xterm',
    }).ended;
    expect({ code, calls: stage.calls, stdout }).toMatchObject({ code: 0, calls: 1 });
  });
});
