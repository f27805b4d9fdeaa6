import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openStage, waitFor } from './stage.ts';

const work = ['-p', 'work'];
const hasScript = canMakeTerminals();
const promise = "echo '<promise>DONE</promise>'";

describe('ways to be done', () => {
  const ways = {
    'the promise': promise,
    'the response tag': "echo '<response>DONE</response>'",
    'the DONE file': ': > "$RALPH_DONE_FILE"',
  };

  for (const [what, script] of Object.entries(ways)) {
    it(`${what} completes the loop (T147)`, async () => {
      const stage = openStage();
      stage.plans(2, script);
      const { code, stderr } = await stage.run(...work);
      expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
      expect(stderr).toContain('unverified');
    });

    it(`${what} completes nothing while a check fails, and does once it passes (T147)`, async () => {
      const stage = openStage();
      stage.plans('default', script);
      const red = await stage.run(...work, '-m', '2', '--check', 'false');
      expect({ code: red.code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
      expect(red.stderr).toContain('2 claims to be done, contradicted by checks');
      const green = await stage.run(...work, '--check', 'true');
      expect({ code: green.code, calls: stage.calls }).toEqual({ code: 0, calls: 3 });
      expect(stage.state['outcome']).toMatchObject({ type: 'done', verified: true });
    });
  }

  it('a quoted promise, one in a code block and the echoed prompt are none', async () => {
    const stage = openStage();
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

  it('green checks alone are enough where that is asked for', async () => {
    const stage = openStage();
    stage.plans(2, ': > fixed');
    const { code } = await stage.run(...work, '--until', 'checks', '--check', 'test -e fixed');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
  });
});

describe('the same plan under every preset', () => {
  const codes = { default: 1, conductor: 1, 'ralph-cli': 1, architect: 1, swarm: 0 };

  for (const [preset, code] of Object.entries(codes)) {
    it(`${preset}: an agent that never says it is done, twice, is exit code ${code} (T145)`, async () => {
      const stage = openStage();
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

describe('signals', () => {
  it('the first lets the agent go on, the second ends it for good; 130 both times (T073)', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    const gentle = stage.starts(...work);
    await stage.called(1);
    gentle.signal('SIGTERM');
    await gentle.until('Received signal, shutting down...');
    stage.release();
    expect((await gentle.ended).code).toBe(130);
    expect(stage.has(1, 'end')).toBe(true);

    stage.plans(2, `trap '' INT TERM; echo deaf; ${waitFor('never')}`);
    const firm = stage.starts(...work, '--kill-grace', '300ms');
    await firm.until('deaf', 'stdout');
    firm.signal('SIGINT');
    await firm.until('Received signal, shutting down...');
    expect(stage.running).not.toEqual([]);
    firm.signal('SIGINT');
    expect((await firm.ended).code).toBe(130);
    expect(stage.running).toEqual([]);
    expect(stage.has(2, 'end')).toBe(false);
  });
});

describe('one owner', () => {
  it('a second loop of the same name is refused and told whose it is; the first is not disturbed (T148)', async () => {
    const stage = openStage();
    stage.plans(1, `${waitFor()}; ${promise}`);
    const first = stage.starts(...work);
    await stage.called(1);
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

  it('a loop whose owner was killed is not started over by mistake; resume goes on with it (T148)', async () => {
    const stage = openStage();
    stage.plans(1, `${waitFor()}; ${promise}`);
    const first = stage.starts(...work);
    await stage.called(1);
    first.signal('SIGKILL');
    await first.ended;
    const again = await stage.run(...work);
    expect(again.code).toBe(2);
    expect(again.stderr).toMatch(
      /^ralph: error: the loop "it" is not finished; continue it with: ralph resume it,.*\n$/,
    );
    const resumed = stage.ralph('resume', 'it');
    await stage.journaled('owner.changed');
    stage.release();
    expect((await resumed.ended).code).toBe(0);
    expect(stage.calls).toBe(1);
  });

  it('--fresh takes over from a dead owner, ends what it left running and keeps the old journal (T148)', async () => {
    const stage = openStage();
    stage.plans(1, waitFor('never'));
    stage.plans(2, promise);
    const first = stage.starts(...work);
    await stage.called(1);
    first.signal('SIGKILL');
    await first.ended;
    expect((await stage.run(...work, '--fresh')).code).toBe(0);
    expect(stage.running).toEqual([]);
    expect(stage.read('.ralph/archive/it-1/journal.jsonl')).toContain('"loop.created"');
  });
});

describe('odd surroundings', () => {
  const line = '$RALPH run -p work --name it -- "$AGENT"';
  const shout = `i=0; while [ $i -lt 200 ]; do echo "line $i of many, long enough to fill a pipe"; i=$((i+1)); done`;

  it('a closed standard input harms nobody (T149)', async () => {
    const stage = openStage();
    stage.plans(1, promise);
    expect((await stage.shell(`${line} <&-`, { AGENT: stage.agent }).ended).code).toBe(0);
  });

  it('closed standard output and error harm nobody either (T149)', async () => {
    const stage = openStage();
    stage.plans(1, `${shout}; ${promise}`);
    expect((await stage.shell(`${line} >&- 2>&-`, { AGENT: stage.agent }).ended).code).toBe(0);
    expect(stage.state['outcome']).toMatchObject({ type: 'done' });
  });

  it('a reader that has seen enough does not stop the loop, nor change its exit code (T149)', async () => {
    const stage = openStage();
    stage.plans(1, shout);
    stage.plans(2, `${shout}; ${promise}`);
    const piped = `{ ${line} 2>&1; echo $? > "$FAKE_PLAN/code"; } | head -n 1`;
    const { stdout } = await stage.shell(piped, { AGENT: stage.agent }).ended;
    expect(stdout.split('\n')).toHaveLength(2);
    await stage.appears(`${stage.plan}/code`);
    expect(readFileSync(`${stage.plan}/code`, 'utf8')).toBe('0\n');
    expect(stage.calls).toBe(2);
    expect(stage.state['outcome']).toMatchObject({ type: 'done' });
  });

  it('the exit code of a loop with a closed reader is its own (T149)', async () => {
    const stage = openStage();
    const piped = `{ ${line.replace('--name', '-m 1 --name')}; echo "code $?" >&2; } | true`;
    stage.plans(1, shout);
    const { stderr } = await stage.shell(piped, { AGENT: stage.agent }).ended;
    expect(stderr).toContain('code 1\n');
  });

  it.skipIf(!hasScript)('a terminal without columns harms nobody (T149)', async () => {
    const stage = openStage();
    stage.plans(1, promise);
    const quoted = `stty cols 0 rows 0; ${line}`;
    const { code, stdout } = await stage.shell(`script --quiet --return --command '${quoted}' /dev/null`, {
      AGENT: stage.agent,
      TERM: 'xterm',
    }).ended;
    expect({ code, calls: stage.calls, stdout }).toMatchObject({ code: 0, calls: 1 });
  });
});

/** util-linux's `script`, which gives a command a terminal; elsewhere it has other options or is missing. */
function canMakeTerminals(): boolean {
  const { stdout } = spawnSync('/bin/sh', ['-c', 'script --version'], { encoding: 'utf8' });
  return stdout.includes('util-linux');
}
