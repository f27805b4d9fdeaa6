import { describe, expect, it } from 'vitest';
import { openLoadedStage, openStage, waitFor } from './stage.ts';

const ralphCli = ['-p', 'work', '--preset', 'ralph-cli'];
const done = "echo 'all is well <response>DONE</response>'";

describe('a ralph-cli loop', () => {
  it('S2.9 S2.49 S2.50 completes on the response tag, in any case and with spaces in it (T048)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, done);
    expect((await stage.run(...ralphCli)).code).toBe(0);
    stage.plans(2, "echo '<RESPONSE> done </RESPONSE>'");
    expect((await stage.run(...ralphCli)).code).toBe(0);
    expect(stage.calls).toBe(2);
  });

  it('S2.46 S2.52 ignores the bare word and a tag across two lines, and exits 1 after ten iterations (T048)', async () => {
    const stage = openLoadedStage();
    stage.plans('default', "echo DONE; echo '<response>'; echo 'DONE</response>'");
    const { code, stderr } = await stage.run(...ralphCli);
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 10 });
    expect(stderr).toContain('starting iteration 10/10');
  });

  it('S2.51 looks only at the first of several tags', async () => {
    const stage = openLoadedStage();
    stage.plans(1, "echo '<response>NOT YET</response> <response>DONE</response>'");
    stage.plans(2, "echo '<response>DONE</response> <response>NOT YET</response>'");
    expect((await stage.run(...ralphCli)).code).toBe(0);
    expect(stage.calls).toBe(2);
  });

  it('S2.9 completes on the response of --completion-response', async () => {
    const stage = openLoadedStage();
    stage.plans(1, done);
    stage.plans(2, "echo '<response>FIN</response>'");
    expect((await stage.run(...ralphCli, '-c', 'FIN')).code).toBe(0);
    expect(stage.calls).toBe(2);
    stage.plans(3, "echo '<response>fin</response>'");
    expect((await stage.run(...ralphCli, '--completion-response', 'FIN')).code).toBe(0);
  });

  it('S2.8 accepts three spellings of --max-iterations', async () => {
    const stage = openLoadedStage();
    for (const option of ['-m', '--max-iterations', '--maximum-iterations']) {
      // oxlint-disable-next-line no-await-in-loop -- one loop after the other under one name
      const { code, stderr } = await stage.run(...ralphCli, option, '1');
      expect({ option, code }).toEqual({ option, code: 1 });
      expect(stderr).toContain('starting iteration 1/1');
    }
    expect(stage.calls).toBe(3);
  });

  it('S2.69 exits 0 when done, 1 at the limit, 2 on bad usage and 130 after a signal', async () => {
    const stage = openStage();
    stage.plans(1, done);
    stage.plans(3, waitFor());
    const codes = [
      (await stage.run(...ralphCli)).code,
      (await stage.run(...ralphCli, '-m', '1')).code,
      (await stage.run(...ralphCli, '-m', 'many')).code,
    ];
    const ralph = stage.starts(...ralphCli);
    await stage.waitForCall(3);
    ralph.signal('SIGTERM');
    await ralph.until('Received signal');
    stage.release();
    expect([...codes, (await ralph.ended).code]).toEqual([0, 1, 2, 130]);
  });
});

describe('the output of the agent', () => {
  it('S2.10 S2.40 is shown unless that is disabled, and counts in both cases (T065)', async () => {
    const stage = openLoadedStage();
    stage.plans('default', done);
    const shown = await stage.run(...ralphCli);
    expect(shown).toMatchObject({ code: 0, stdout: 'all is well <response>DONE</response>\n' });
    const asked = await stage.run(...ralphCli, '--stream-agent-output');
    expect(asked.stdout).toBe(shown.stdout);
    const hidden = await stage.run(...ralphCli, '--no-stream-agent-output');
    expect(hidden).toMatchObject({ code: 0, stdout: '' });
    expect(hidden.stderr).not.toContain('all is well');
    // The flag overrides the settings.
    stage.settings({ streamAgentOutput: false });
    expect((await stage.run(...ralphCli)).stdout).toBe('');
    expect((await stage.run(...ralphCli, '--stream-agent-output')).stdout).toBe(shown.stdout);
  });

  it('S2.41 is shown while the agent is still running', async () => {
    const stage = openLoadedStage();
    stage.plans(1, `echo first; ${waitFor()}; ${done}`);
    const ralph = stage.starts(...ralphCli);
    await ralph.until('first\n', 'stdout');
    expect(stage.has(1, 'end')).toBe(false);
    stage.release();
    expect((await ralph.ended).code).toBe(0);
  });
});

describe('the prompt', () => {
  const awkward = `it's "quoted", costs $HOME and \`date\`\\n\n\n\tends with blanks  \n`;

  it('S2.6 reaches the agent byte for byte from the command line (T062)', async () => {
    const stage = openLoadedStage();
    stage.plans('default', done);
    await stage.run('--prompt', awkward, '--preset', 'ralph-cli');
    await stage.run('-p', awkward, '--preset', 'ralph-cli');
    expect([stage.given(1, 'last'), stage.given(2, 'last')]).toEqual([awkward, awkward]);
  });

  it('S2.7 reaches the agent byte for byte from a file (T062)', async () => {
    const stage = openLoadedStage();
    stage.plans('default', done);
    stage.write('PROMPT.md', awkward);
    await stage.run('--prompt-file', 'PROMPT.md', '--preset', 'ralph-cli');
    await stage.run('-f', stage.path('PROMPT.md'), '--preset', 'ralph-cli');
    expect([stage.given(1, 'last'), stage.given(2, 'last')]).toEqual([awkward, awkward]);
  });

  it('from stdin is read once and used in every iteration', async () => {
    const stage = openLoadedStage();
    const line = `printf 'from %s' "a pipe" | $RALPH run -f - --name it --preset ralph-cli -m 2 -- "$AGENT"`;
    const { code } = await stage.shell(line, { AGENT: stage.agent }).ended;
    expect(code).toBe(1);
    expect([stage.given(1, 'last'), stage.given(2, 'last')]).toEqual(['from a pipe', 'from a pipe']);
  });

  it('S2.42 from a file is read again for every iteration, and from the command line stays the same (T061)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'first');
    stage.plans(1, 'printf second > PROMPT.md');
    await stage.run('-f', 'PROMPT.md', '--preset', 'ralph-cli', '-m', '2');
    expect([stage.given(1, 'last'), stage.given(2, 'last')]).toEqual(['first', 'second']);
    await stage.run('-p', 'PROMPT.md', '--preset', 'ralph-cli', '-m', '2');
    expect([stage.given(3, 'last'), stage.given(4, 'last')]).toEqual(['PROMPT.md', 'PROMPT.md']);
  });

  it('whose file disappears ends the loop with exit code 2 and a message that names the file (T061)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'first');
    stage.plans(1, 'rm PROMPT.md');
    const { code, stderr } = await stage.run('-f', 'PROMPT.md', '--preset', 'ralph-cli');
    expect({ code, calls: stage.calls }).toEqual({ code: 2, calls: 1 });
    expect(stderr).toContain(`prompt file not found: ${stage.path('PROMPT.md')}`);
    expect(stage.state['status']).toBe('failed');
  });

  it('whose file disappears ends the loop with a line `ralph: error: …` (T061)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'first');
    stage.plans(1, 'rm PROMPT.md');
    const { stderr } = await stage.run('-f', 'PROMPT.md', '--preset', 'ralph-cli');
    expect(stderr).toMatch(/^ralph: error: .*prompt file.*PROMPT\.md/m);
  });
});

describe('a signal', () => {
  it('S2.70 S2.71 S2.72 S2.73 S2.115 lets the agent finish, starts no guardrail and exits 130 (T071)', async () => {
    const stage = openStage();
    stage.plans(1, `trap 'echo signalled > "$FAKE_CALL/signal"' INT TERM HUP; ${waitFor()}; ${done}`);
    const ralph = stage.starts(...ralphCli, '--check', ': > "$FAKE_PLAN/checked"');
    await stage.waitForCall(1);
    ralph.signal('SIGINT');
    await ralph.until('Received signal, shutting down...');
    stage.release();
    const { code, stdout } = await ralph.ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 130, calls: 1 });
    expect(stdout).toContain('all is well');
    expect([stage.has(1, 'end'), stage.has(1, 'signal'), stage.hasPlanFile('checked')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('S2.70 S2.71 lets a running guardrail finish and keeps its whole log (T071)', async () => {
    const stage = openStage();
    stage.write('gate', `echo begun; : > "$FAKE_PLAN/checking"; ${waitFor()}; echo finished; exit 1`);
    const ralph = stage.starts(...ralphCli, '--check', '. ./gate', '--check', ': > "$FAKE_PLAN/second"');
    await stage.waitForFile(`${stage.plan}/checking`);
    ralph.signal('SIGTERM');
    await ralph.until('Received signal, shutting down...');
    stage.release();
    expect((await ralph.ended).code).toBe(130);
    expect(stage.calls).toBe(1);
    const finished = stage.journal.filter(({ type }) => type === 'check.finished');
    expect(finished).toHaveLength(1);
    expect(finished[0]).toMatchObject({ result: { code: 1 } });
    expect(JSON.stringify(finished)).toContain('checks/gate.log');
    expect(stage.read('.ralph/loops/it/runs/0001/checks/gate.log')).toBe('begun\nfinished\n');
  });

  it('S2.72 exits 130 even after the completion response, and state.json has the iteration (T074)', async () => {
    const stage = openStage();
    stage.plans(2, `${done}; ${waitFor()}`);
    const ralph = stage.starts(...ralphCli);
    await ralph.until('all is well', 'stdout');
    ralph.signal('SIGINT');
    await ralph.until('Received signal, shutting down...');
    stage.release();
    expect((await ralph.ended).code).toBe(130);
    expect(stage.state).toMatchObject({ current_iteration: 2, outcome: { type: 'stopped', by: 'signal' } });
    expect(stage.log).toContain('[END] iteration 2 exit=0');
  });
});

describe('the command line', () => {
  it('S2.13 requires exactly one prompt and says what is wrong (T037)', async () => {
    const stage = openLoadedStage();
    const none = await stage.ralph('run', '--', stage.agent).ended;
    expect(none).toMatchObject({
      code: 2,
      stderr: 'ralph: error: must specify prompt (--prompt or --prompt-file)\n',
    });
    stage.write('PROMPT.md', 'x');
    const both = await stage.ralph('run', '-p', 'x', '-f', 'PROMPT.md', '--', stage.agent).ended;
    expect(both).toMatchObject({
      code: 2,
      stderr: 'ralph: error: cannot specify both --prompt and --prompt-file\n',
    });
    const missing = await stage.ralph('run', '-f', 'x.md', '--', stage.agent).ended;
    expect(missing).toMatchObject({ code: 2, stderr: 'ralph: error: prompt file not found: x.md\n' });
    const empty = await stage.ralph('run', '-p', '', '--', stage.agent).ended;
    expect(empty).toMatchObject({ code: 2, stderr: none.stderr });
    expect([stage.calls, stage.loops]).toEqual([0, []]);
  });

  it('S2.4 explains how to give a prompt after a bare `ralph`, and needs no `run` (T047)', async () => {
    const stage = openLoadedStage();
    const bare = await stage.ralph().ended;
    expect(bare.code).toBe(2);
    expect(bare.stderr).toMatch(
      /^ralph: error: must specify prompt \(--prompt or --prompt-file\)\n\nUsage: ralph [^]*ralph run "[^]*ralph help --all\n$/,
    );
    stage.plans(1, "echo '<promise>DONE</promise>'");
    expect((await stage.ralph('-p', 'work', '--', stage.agent).ended).code).toBe(0);
    stage.plans(2, "echo '<promise>DONE</promise>'");
    expect((await stage.ralph('work on it', '--', stage.agent).ended).code).toBe(0);
    expect(stage.calls).toBe(2);
  });

  it('has a help text on how the prompt can reach the agent', async () => {
    const { code, stdout } = await openLoadedStage().ralph('help', 'run', '--all').ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/--prompt-via <way> +how the agent gets the prompt: stdin, file\s+or argument/);
  });

  it('S2.4 rejects a bare word that is no command, with a suggestion (T047)', async () => {
    const stage = openLoadedStage();
    const { code, stderr } = await stage.ralph('statsu', '--', stage.agent).ended;
    expect(code).toBe(2);
    expect(stderr).toContain("unknown command 'statsu'");
    expect(stderr).toContain('Did you mean status?');
    expect(stage.calls).toBe(0);
  });

  it('has no option for a settings file (T047)', async () => {
    const stage = openLoadedStage();
    const { code, stderr } = await stage.ralph('run', '--settings', 'x.json', '-p', 'x', '--', stage.agent)
      .ended;
    expect(code).toBe(2);
    expect(stderr).toContain("unknown option '--settings'");
  });
});
