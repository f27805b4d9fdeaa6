/** What a loop does, and says, about runs that do not report what they used. */
import { describe, expect, it } from 'vitest';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const json = (event: object): string => `echo '${JSON.stringify(event)}'`;

/** A run of codex with this usage, which is known from its stream. */
const completes = (input: number): string =>
  [
    json({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'Not yet.' } }),
    json({ type: 'turn.completed', usage: { input_tokens: input, output_tokens: 0 } }),
  ].join('\n');

const fails = json({ type: 'turn.failed', error: { message: 'the answer makes no sense' } });

/** A run of codex that fails after it has recorded its usage in its own session file. */
const failsAndRecords = (input: number): string => {
  const total = { input_tokens: input, output_tokens: 0 };
  const payload = { type: 'token_count', info: { total_token_usage: total } };
  const entry = JSON.stringify({ timestamp: 'NOW', type: 'event_msg', payload });
  return [
    'id=$(printf "01a1e2d4-ecad-7683-9423-%012d" "$$")',
    'echo "{\\"type\\":\\"thread.started\\",\\"thread_id\\":\\"$id\\"}"',
    'folder="$CODEX_HOME/sessions/$(date -u +%Y/%m/%d)"; mkdir -p "$folder"',
    `echo '${entry}' | sed "s/NOW/$(date -u +%Y-%m-%dT%H:%M:%S.999Z)/" >"$folder/rollout-x-$id.jsonl"`,
    fails,
    'exit 1',
  ].join('\n');
};

const codex = (stage: Stage, ...args: readonly string[]) => {
  stage.installs('codex');
  return stage.ralph('run', 'work', '--name', 'it', '--agent', 'codex', '--model', 'gpt-5', ...args).ended;
};

describe('a limit', () => {
  it('counts the usage that codex records itself of runs that fail', async () => {
    const stage = openLoadedStage();
    stage.plans('default', failsAndRecords(2000));
    const home = stage.path('codex-home');
    const { code, stderr } = await codex(stage, '--max-tokens', '5000', '--env', `CODEX_HOME=${home}`);
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 3 });
    expect(stderr).toContain('token limit reached: 6000 of 5000\n');
    expect(stderr).toContain('tokens: 6000 in, 0 out, 0 cache read, 0 cache write\n');
    expect(stage.state).toMatchObject({ runs_of_unknown_tokens: 0, tokens: { input: 6000 } });
  });

  it('ends a silent run by what claude records of it, and says what was recorded until then', async () => {
    const stage = openStage();
    stage.installs('claude');
    const session = 'db43316d-170c-4313-9ae5-fa40bf1e43bd';
    const entry = (id: number) => {
      const usage = { input_tokens: 100, output_tokens: 900 };
      const message = { id: `m${id}`, model: 'claude-sonnet-4-5', usage };
      return JSON.stringify({ type: 'assistant', timestamp: '2999-01-01T00:00:00Z', message });
    };
    const file = `$CLAUDE_CONFIG_DIR/projects/p/${session}.jsonl`;
    stage.plans(
      'default',
      [
        `mkdir -p "$CLAUDE_CONFIG_DIR/projects/p"; echo '${entry(1)}' >"${file}"`,
        json({ type: 'system', subtype: 'init', session_id: session }),
        waitFor(),
        `echo '${entry(2)}' >>"${file}"; echo '${entry(2)}' >>"${file}"`,
        `printf %s '${entry(3)}' >>"${file}"`,
        waitFor('never'),
      ].join('\n'),
    );
    const home = `CLAUDE_CONFIG_DIR=${stage.path('home-of-claude')}`;
    const words = ['run', 'work', '--name', 'it', '--agent', 'claude', '--env', home];
    const ralph = stage.ralph(...words, '--max-tokens', '2000');
    // The first message is noticed, and claude prints nothing more.
    await stage.waitForEvents('run.output');
    stage.release();
    const { code, stderr } = await ralph.ended;
    expect(code).toBe(1);
    expect(stderr).toContain('token limit reached: 2000 of 2000\n');
    expect(stderr).toMatch(
      /cost +\$0\.0276 estimated, tokens: 200 in, 1800 out, 0 cache read, 0 cache write\n/,
    );
  });

  it('counts the text of claude where it records nothing, and every report says that the output is estimated', async () => {
    const stage = openLoadedStage();
    stage.installs('claude');
    const text = 'word '.repeat(1400);
    const usage = { input_tokens: 10, output_tokens: 1 };
    const message = { id: 'm', model: 'claude-sonnet-4-5', stop_reason: null, usage };
    const said = json({ type: 'assistant', message: { ...message, content: [{ type: 'text', text }] } });
    stage.plans('default', `${said}; ${waitFor()}`);
    const words = ['run', 'work', '--name', 'it', '--agent', 'claude', '--max-tokens', '2000'];
    const { stderr } = await stage.ralph(...words).ended;
    expect(stderr).toContain('token limit reached: 2010 of 2000\n');
    const sum = 'tokens: 10 in, 2000 out, 0 cache read, 0 cache write (output estimated in 1 run)';
    expect(stderr).toContain(sum);
    const story = (await stage.ralph('story', 'it').ended).stdout.replaceAll(/\n +/g, ' ');
    expect(story).toContain('cost: $0.0300 (output estimated)');
    expect(story).toContain(sum);
    expect(stage.state).toMatchObject({ runs_of_estimated_output: 1 });
  });

  it('charges a run of unknown usage like the most expensive known run, and every report says so', async () => {
    const stage = openLoadedStage();
    stage.plans(1, completes(2000));
    stage.plans(2, completes(1000));
    stage.plans('default', `${fails}; exit 1`);
    const { code, stderr } = await codex(stage, '--max-tokens', '6000');
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 4 });
    const sum = 'plus 2 runs of unknown usage, charged like the most expensive known run: 7000 tokens in all';
    expect(stderr).toContain(
      'token limit reached: 7000 of 6000, with 2 runs of unknown usage charged like the most expensive known run\n',
    );
    expect(stderr).toContain(`tokens: 3000 in, 0 out, 0 cache read, 0 cache write (${sum})\n`);
    const status = await stage.ralph('status', 'it').ended;
    expect(status.stdout).toContain(`Tokens: 3000 in, 0 out, 0 cache read, 0 cache write (${sum})\n`);
    expect(status.stdout).toContain('  iteration 3: unknown\n');
    expect(stage.state).toMatchObject({ runs_of_unknown_tokens: 2, runs_of_unknown_cost: 2 });
    const { stdout } = await stage.ralph('status', 'it', '--json').ended;
    expect(JSON.parse(stdout)).toMatchObject({
      record: {
        runsOfUnknownTokens: 2,
        runsOfUnknownCost: 2,
        chargedTokens: { runs: 2, sum: 7000 },
        // The cost is not limited.
        chargedCost: null,
      },
    });
    expect(stage.read('.ralph/loops/it/progress.md')).toMatch(/Iteration 3 [^#]*- Cost: unknown/);
  });

  it.each([
    ['--max-cost', '0.01', 'cannot enforce the cost limit of $0.0100: 2 runs did not report their cost'],
    ['--max-tokens', '5000', 'cannot enforce the token limit of 5000: 2 runs did not report their tokens'],
  ])(
    '%s ends a loop without any known usage after two runs, and a person can resume it',
    async (option, limit, reason) => {
      const stage = openLoadedStage();
      stage.plans('default', `${fails}; exit 1`);
      const { code, stderr } = await codex(stage, option, limit, '--max-failures', '20');
      expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
      expect(stderr).toContain(reason);
      expect(stderr).toContain('cost        unknown: no run reported it\n');
      expect(stderr).not.toContain('$0.0000');
      expect(stage.state).toMatchObject({ tokens: null, cost_usd: null });
      expect(stderr).toContain('resume      ralph resume it\n');
      const resumed = await stage.ralph('resume', 'it').ended;
      expect({ code: resumed.code, calls: stage.calls }).toEqual({ code: 1, calls: 4 });
    },
  );
});

describe('a commit message in the preset ralph-cli', () => {
  it('S2.34 S2.102 is asked of claude in text mode, and the report says that its cost is unknown', async () => {
    const stage = openLoadedStage();
    stage.installs('claude');
    stage.settings({
      preset: 'ralph-cli',
      agent: { command: 'claude' },
      scm: { command: 'git -c user.name=t -c user.email=t@t', tasks: ['commit'] },
    });
    const result = { type: 'result', subtype: 'success', result: '<response>DONE</response>' };
    stage.plans(1, `echo new > work.txt; ${json({ ...result, total_cost_usd: 0.5 })}`);
    stage.plans(2, 'echo "Add the work"');
    const { code, stderr } = await stage.ralph('run', '--name', 'it', '-p', 'work').ended;
    expect(code).toBe(0);
    expect(stage.given(2, 'argv')).toMatch(/^-p\n--output-format\ntext\nProvide a short imperative/);
    expect(stage.git('log', '-1', '--format=%s')).toBe('Add the work\n');
    expect(stderr).toContain('$0.5000 reported (plus 1 run of unknown cost)');
  });
});
