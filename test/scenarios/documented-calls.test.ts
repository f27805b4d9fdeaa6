/** How the preset `ralph-cli` calls the agents of document 001, what it reports, and which claims it accepts. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const awkward = `it's "quoted", costs $HOME and \`date\`\n\n\tends  \n`;
const run = (stage: Stage, agent: string, prompt: string, ...args: readonly string[]) => {
  stage.settings({ preset: 'ralph-cli', agent: { command: agent, flags: ['--model opus'] } });
  return stage.ralph('run', '--name', 'it', '-p', prompt, '-m', '1', ...args).ended;
};
const json = (...events: readonly object[]): string =>
  events.map((event) => `echo '${JSON.stringify(event)}'`).join('\n');
const claudeSays = (text: string, result: string | null): string =>
  json(
    { type: 'system', subtype: 'init', session_id: 's' },
    { type: 'assistant', message: { id: 'm', content: [{ type: 'text', text }] } },
    ...(result === null
      ? []
      : [{ type: 'result', subtype: 'success', is_error: false, result, session_id: 's' }]),
  );
const codexSays = (text: string): string =>
  json(
    { type: 'item.completed', item: { id: 'i', type: 'agent_message', text } },
    { type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } },
  );

describe('the agent call', () => {
  it('S2.33 S2.34 of claude has -p, the stream options, the flags and the prompt as one argument (T063)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, claudeSays('x', '<response>DONE</response>'));
    const { code, stderr } = await run(stage, stage.installs('claude'), awkward);
    expect(code).toBe(0);
    const words = ['-p', '--output-format', 'stream-json', '--verbose', '--model', 'opus', awkward];
    expect(stage.given(1, 'argv')).toBe(`${words.join('\n')}\n`);
    expect(stage.given(1, 'last')).toBe(awkward);
    expect(stderr).toContain('claude -p --output-format stream-json --verbose --model opus <prompt>\n');
  });

  it('S2.33 S2.35 S2.37 of amp ends with -x and the prompt (T063)', async () => {
    const stage = openLoadedStage();
    stage.installs('amp');
    await run(stage, 'amp', awkward);
    const words = ['--stream-json', '--dangerously-allow-all', '--model', 'opus', '-x', awkward];
    expect(stage.given(1, 'argv')).toBe(`${words.join('\n')}\n`);
  });

  it('S2.33 S2.38 of codex names a file with the prompt, which Ralph deletes afterwards (T063)', async () => {
    const stage = openLoadedStage();
    stage.installs('codex');
    stage.plans(
      1,
      `cat .ralph/prompt_001.txt > "$FAKE_CALL/file"; ${codexSays('<response>DONE</response>')}`,
    );
    expect((await run(stage, 'codex', awkward)).code).toBe(0);
    expect(stage.given(1, 'argv')).toBe('e\n--json\n--full-auto\n--model\nopus\n.ralph/prompt_001.txt\n');
    expect(stage.given(1, 'file')).toBe(awkward);
    // The real codex does not open the file, but reads stdin.
    expect(stage.given(1, 'stdin')).toBe(awkward);
    expect(readdirSync(stage.path('.ralph')).filter((name) => name.startsWith('prompt'))).toEqual([]);
  });

  it('S2.39 of codex for a commit message names a file for the answer, which Ralph reads and deletes (T063)', async () => {
    const stage = openLoadedStage();
    stage.installs('codex');
    stage.settings({
      preset: 'ralph-cli',
      agent: { command: 'codex', flags: ['--model opus'] },
      scm: { command: 'git -c user.name=t -c user.email=t@t', tasks: ['commit'] },
    });
    stage.plans(1, `echo new > work.txt; ${codexSays('<response>DONE</response>')}`);
    // The argument after -o is the file.
    stage.plans(
      2,
      'file=$(sed -n "/^-o$/{n;p;}" "$FAKE_CALL/argv"); echo "Add the work" > "$file"; echo noise',
    );
    const { code } = await stage.ralph('run', '--name', 'it', '-p', 'work').ended;
    expect(code).toBe(0);
    const answer = stage.path('.ralph/loops/it/runs/0001.2/answer.txt');
    expect(stage.given(2, 'argv')).toBe(
      `e\n--full-auto\n--model\nopus\n-o\n${answer}\n.ralph/prompt_001.txt\n`,
    );
    expect(stage.given(2, 'stdin')).toBe(
      'Provide a short imperative commit message for the changes. Output only the message, no explanation.',
    );
    expect(stage.git('log', '-1', '--format=%s')).toBe('Add the work\n');
    expect(existsSync(answer)).toBe(false);
  });

  it('S2.36 of codex has --sandbox workspace-write if the program does not support --full-auto', async () => {
    const stage = openLoadedStage();
    const codex = stage.installs('codex');
    stage.write(
      'codex.sh',
      `[ "$2" = --help ] && echo 'Usage: codex exec [--json]' && exit 0; exec ${codex} "$@"`,
    );
    stage.settings({ preset: 'ralph-cli', agent: { name: 'codex', command: 'sh', flags: [] } });
    stage.env['PATH'] = `${stage.path('bin')}:${stage.env['PATH'] ?? ''}`;
    stage.write('bin/codex', `#!/bin/sh\n. ${stage.path('codex.sh')}\n`);
    await stage.shell('chmod +x bin/codex').ended;
    await run(stage, 'codex', 'work');
    expect(stage.given(1, 'argv')).toBe(
      'e\n--json\n--sandbox\nworkspace-write\n--skip-git-repo-check\n--model\nopus\n.ralph/prompt_001.txt\n',
    );
  });

  it('S2.106 of any other command has the flags and the prompt, and a prompt that is too long goes to stdin', async () => {
    const stage = openLoadedStage();
    await run(stage, stage.agent, awkward);
    expect(stage.given(1, 'argv')).toBe(`--model\nopus\n${awkward}\n`);
    stage.write('long.md', 'x'.repeat(300_000));
    await stage.ralph('run', '--name', 'it', '-f', 'long.md', '-m', '1').ended;
    expect(stage.given(2, 'argv')).toBe('--model\nopus\n');
    expect(stage.given(2, 'stdin')).toHaveLength(300_000);
  });

  it('does not overwrite a file that already has the name of the prompt file', async () => {
    const stage = openLoadedStage();
    stage.installs('codex');
    stage.write('.ralph/prompt_001.txt', 'mine');
    await run(stage, 'codex', 'work');
    expect(stage.given(1, 'argv')).toContain('.ralph/loops/it/runs/0001/prompt.md');
    expect(stage.read('.ralph/prompt_001.txt')).toBe('mine');
  });
});

describe('completion', () => {
  const completes = async (
    agent: 'claude' | 'codex',
    says: string,
    ...args: readonly string[]
  ): Promise<boolean> => {
    const stage = openLoadedStage();
    stage.installs(agent);
    stage.plans(1, says);
    return (await run(stage, agent, 'work', ...args)).code === 0;
  };

  it('accepts the first tag or the bare word in the final answer of a stream, in any case', async () => {
    expect(await completes('claude', claudeSays('x', 'All good. <response> done </response>'))).toBe(true);
    expect(await completes('claude', claudeSays('x', ' done\\n'))).toBe(true);
    expect(await completes('codex', codexSays('DONE'))).toBe(true);
    expect(
      await completes('codex', codexSays('<response>DONE</response>'), '-c', '<response>done</response>'),
    ).toBe(true);
  });

  it('ignores a word at the end of the final answer, and tags outside of it (T066)', async () => {
    expect(await completes('claude', claudeSays('<response>DONE</response>', 'Not yet.'))).toBe(false);
    expect(
      await completes('claude', `${claudeSays('x', 'Not yet.')}\necho '<response>DONE</response>'`),
    ).toBe(false);
    expect(await completes('claude', claudeSays('x', 'It is DONE'))).toBe(false);
    expect(await completes('codex', codexSays('It is DONE'))).toBe(false);
  });
});

describe('a ralph-cli loop', () => {
  const guarded = { guardrails: [{ command: 'test -e fixed', failAction: 'PREPEND' }] };
  const prompt = `work ${'€'.repeat(300)}`;

  it('S2.59 S2.97 reports the call, each iteration, every guardrail with its exit code and action, and the end', async () => {
    const stage = openLoadedStage();
    stage.settings({ preset: 'ralph-cli', agent: { command: stage.agent }, ...guarded });
    stage.plans(2, ': > fixed');
    const { code, stderr } = await stage.ralph('run', '--name', 'it', '-p', 'x', '-m', '2').ended;
    expect(code).toBe(1);
    const log = '.ralph/loops/it/runs/0001/checks/test_e_fixed.log';
    const lines = stderr.replaceAll(/\d+\.\ds/g, 'TIME').split('\n');
    expect(lines.slice(0, 9)).toEqual([
      `[ralph] Agent command: ${stage.agent} <prompt>`,
      '[ralph] it: starting iteration 1/2',
      '[ralph] it: iteration 1 completed (exit: 0, duration: 0s)',
      '[ralph] it: check started: test -e fixed',
      `[ralph] it: check failed: test -e fixed (exit 1, action=PREPEND, TIME) — ${log}`,
      '[ralph] it: starting iteration 2/2',
      '[ralph] it: iteration 2 completed (exit: 0, duration: 0s)',
      '[ralph] it: check started: test -e fixed',
      '[ralph] it: check passed: test -e fixed (exit 0, TIME)',
    ]);
    expect(stderr).toContain('Maximum iterations reached without completion response.');
  });

  it('S2.11 S2.74 S2.75 S2.76 reports more with --verbose: on stderr, in fixed forms, without secrets (T064)', async () => {
    const stage = openLoadedStage();
    stage.env['API_KEY'] = 'my-very-secret-key';
    const flags = ['--model opus', '--api-key my-very-secret-key'];
    stage.settings({ preset: 'ralph-cli', agent: { command: stage.agent, flags }, ...guarded });
    stage.settings({ maximumIterations: 3 }, 'settings.local.json');
    stage.plans('default', "echo hello; : > fixed; echo '<response>DONE</response>'");
    for (const flag of ['-V', '--verbose']) {
      // oxlint-disable-next-line no-await-in-loop -- one loop after the other under one name
      const { stdout, stderr } = await stage.ralph('run', '--name', 'it', '-p', prompt, flag).ended;
      expect(stdout).toBe('hello\n<response>DONE</response>\n');
      expect(stderr).not.toContain('my-very-secret-key');
      const lines = stderr.split('\n');
      // The summary at the end is not part of the log.
      const log = lines.slice(0, lines.indexOf('ralph: it done'));
      expect(log.filter((line) => !line.startsWith('[ralph] '))).toEqual([]);
      for (const line of [
        '[ralph] Loading settings from .ralph/settings.json',
        '[ralph] Loading settings from .ralph/settings.local.json',
        `[ralph] Agent command: ${stage.agent} --model opus --api-key <redacted> <prompt>`,
        '[ralph] Iteration 1/3 starting',
        `[ralph] Prompt: ${prompt.slice(0, 200)}`,
        '[ralph] Running guardrail: test -e fixed',
        '[ralph] Looking for completion: found <response>DONE</response>',
      ]) {
        expect(lines).toContain(line);
      }
      expect(stderr).toMatch(/^\[ralph\] Settings: \{.*"maxIterations":3/m);
      expect(stderr).toMatch(/^\[ralph\] Guardrail exited with code 0 \(\d+\.\ds\)$/m);
      expect(stderr).toMatch(/^\[ralph\] Agent ended after \d+\.\ds$/m);
    }
  });

  it('S2.108 reads long stream lines, counts and skips invalid ones, and logs all of them (T080)', async () => {
    const stage = openLoadedStage();
    stage.installs('claude');
    const big = 'head -c 3000000 /dev/zero | tr "\\0" x';
    stage.plans(
      1,
      `printf '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"'; ${big}; echo '"}]}}'
echo 'this is no JSON'; echo; echo '{"broken'
${claudeSays('x', '<response>DONE</response>')}`,
    );
    const { code, stderr } = await run(stage, 'claude', 'work', '-V');
    expect(code).toBe(0);
    expect(stderr).toMatch(/^\[ralph\] stream stats: \d+ events, 2 errors$/m);
    expect(readFileSync(stage.file('runs/0001/stdout.log')).length).toBeGreaterThan(3_000_000);
  });

  it('S2.98 exits 2 when the prompt file disappears, and retries a failing agent up to --max-failures', async () => {
    const stage = openLoadedStage();
    stage.settings({ preset: 'ralph-cli', agent: { command: stage.agent } });
    stage.write('P.md', 'x');
    stage.plans(1, 'rm P.md');
    const lost = await stage.ralph('run', '--name', 'it', '-f', 'P.md').ended;
    expect(lost.code).toBe(2);
    expect(lost.stderr).toMatch(/^ralph: error: prompt file not found: .*P\.md$/m);
    stage.plans('default', 'exit 3');
    const failing = await stage.ralph('run', '--name', 'it', '-p', 'x', '--max-failures', '2').ended;
    expect(failing.code).toBe(1);
    expect(failing.stderr).toContain('iteration 1 failed (exit: 3), retrying in 1s (attempt 1/2)');
    expect(stage.calls).toBe(3);
    expect(existsSync(stage.path('.ralph/loops/it'))).toBe(true);
  });

  it('S2.57 S2.99 writes a log of every guardrail in every iteration, also of passing and repeated ones (T060)', async () => {
    const stage = openLoadedStage();
    const guardrails = ['echo one; false', 'echo two >&2', 'echo one; false'].map((command) => ({ command }));
    stage.settings({ preset: 'ralph-cli', agent: { command: stage.agent }, guardrails });
    await stage.ralph('run', '--name', 'it', '-p', 'x', '-m', '2').ended;
    const logs = readdirSync(stage.path('.ralph')).filter((name) => name.startsWith('guardrail'));
    expect(logs.toSorted().map((name) => [name, stage.read(`.ralph/${name}`)])).toEqual(
      ['001', '002'].flatMap((iteration) => [
        [`guardrail_${iteration}_echo_one_false.log`, 'one\n'],
        [`guardrail_${iteration}_echo_one_false_1.log`, 'one\n'],
        [`guardrail_${iteration}_echo_two_2.log`, 'two\n'],
      ]),
    );
  });

  it('S2.88 has no time limit for a run and no retry beyond the loop itself', async () => {
    const stage = openLoadedStage();
    const { stdout } = await stage.ralph('config', '--preset', 'ralph-cli', '--json').ended;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own answer
    const config = JSON.parse(stdout) as Record<string, { readonly value: unknown }>;
    expect(
      ['iterationTimeout', 'inactivityTimeout', 'checkTimeout', 'maxTime'].map((key) => config[key]?.value),
    ).toEqual([null, null, null, null]);
  });

  it('S2.57 logs all of 50 MB of guardrail output in .ralph, without stalling or keeping it in memory', async () => {
    const stage = openLoadedStage();
    const guardrails = [{ command: 'head -c 50000000 /dev/zero | tr "\\0" x; false' }];
    stage.settings({ preset: 'ralph-cli', agent: { command: stage.agent }, guardrails });
    const peak = stage.path('peak');
    const measure = new URL('../fixtures/tells-peak-memory.mjs', import.meta.url).pathname;
    const env = { NODE_OPTIONS: `--import ${measure}`, RALPH_E2E_PEAK: peak };
    const { code } = await stage.shell('$RALPH run --name it -p x -m 2', env).ended;
    // In kilobytes, for the whole process.
    expect(Number(stage.read('peak'))).toBeLessThan(120_000);
    expect(code).toBe(1);
    for (const log of ['guardrail_001', 'guardrail_002'])
      expect(statSync(stage.path(`.ralph/${log}_head_c_50000000_dev_zero_tr_0_x_false.log`)).size).toBe(
        50_000_000,
      );
    expect(stage.given(2, 'last').length).toBeLessThan(6000);
  });

  it('passes guardrail output with NUL characters to the next prompt', async () => {
    const stage = openLoadedStage();
    const guardrails = [{ command: String.raw`printf 'a\0b'; exit 1` }, { command: 'kill -9 $PPID; exit 1' }];
    stage.settings({ preset: 'ralph-cli', agent: { command: stage.agent }, guardrails });
    const { code } = await stage.ralph('run', '--name', 'it', '-p', 'x', '-m', '2').ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
    expect(stage.given(2, 'last')).toContain('a\uFFFDb');
    expect(stage.given(2, 'last')).toContain('its exit code is unknown');
  });

  it('S2.74 redacts secrets in its output and in log names, also in URLs and after -u', async () => {
    const stage = openLoadedStage();
    const guardrails = [
      { command: 'true --password hunter2secret' },
      { command: 'true https://bob:hunter2secret@example.com/x' },
      { command: 'true -u bob:hunter2secret' },
    ];
    const flags = ['-u bob:hunter2secret', '--from https://bob:hunter2secret@example.com'];
    stage.settings({ preset: 'ralph-cli', agent: { command: stage.agent, flags }, guardrails });
    stage.plans(1, 'echo "curl -u bob:hunter2secret http://x"');
    const { stdout, stderr } = await stage.ralph('run', '--name', 'it', '-p', 'x', '-m', '1', '-V').ended;
    expect(stage.given(1, 'argv')).toContain('-u\nbob:hunter2secret\n--from\nhttps://bob:hunter2secret@');
    expect(stderr).toContain('-u bob:<redacted> --from https://bob:<redacted>@example.com <prompt>\n');
    expect(stdout).toBe('curl -u bob:<redacted> http://x\n');
    expect(stderr).not.toContain('hunter2');
    expect(readdirSync(stage.path('.ralph')).join()).not.toContain('hunter2');
    expect((await stage.ralph('config').ended).stdout).not.toContain('hunter2');
  });
});
