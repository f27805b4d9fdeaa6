/** The settings files of a workspace, and what a loop does with them. */
import { describe, expect, it } from 'vitest';
import { configOf } from './config-of.ts';
import { openLoadedStage, type Stage } from './stage.ts';

const done = "echo '<response>DONE</response>'";
const shared = (stage: Stage, more: object = {}): void =>
  stage.settings({ preset: 'ralph-cli', agent: { command: stage.agent }, ...more });
const run = (stage: Stage, ...args: readonly string[]) =>
  stage.ralph('run', '--name', 'it', '-p', 'work', ...args).ended;

describe('the settings files', () => {
  it('S2.26 S2.29 are overridden by flags, and the shared one by the local one (T038)', async () => {
    const stage = openLoadedStage();
    shared(stage, { maximumIterations: 9, completionResponse: 'ONE', streamAgentOutput: false });
    stage.settings({ maximumIterations: 7, completionResponse: 'TWO' }, 'settings.local.json');
    stage.plans('default', "echo '<response>FIN</response>'");
    const { code, stdout, stderr } = await run(stage, '-m', '2', '-c', 'FIN');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain('starting iteration 1/2');
    const { maxIterations, completionResponse, streamAgentOutput, preset } = await configOf(stage, '-m', '2');
    expect(maxIterations).toEqual({ value: 2, origin: 'flag', place: '--max-iterations' });
    expect(completionResponse).toEqual({
      value: 'TWO',
      origin: 'local',
      place: '.ralph/settings.local.json:3:3',
    });
    expect(streamAgentOutput).toEqual({ value: false, origin: 'file', place: '.ralph/settings.json:8:3' });
    expect(preset?.origin).toBe('file');
  });

  it('have a text in the place of a check that is only a command', async () => {
    const stage = openLoadedStage();
    shared(stage, { checks: ['test -e fixed', { command: 'true', hint: 'Cannot fail.' }] });
    const { checks } = await configOf(stage);
    expect(checks).toEqual({
      value: [
        { command: 'test -e fixed', failAction: 'APPEND' },
        { command: 'true', failAction: 'APPEND', hint: 'Cannot fail.' },
      ],
      origin: 'file',
      place: '.ralph/settings.json:6:3',
    });
    // An object with this command says the same, so the user who trusts one trusts the other.
    expect((await stage.ralph('trust').ended).code).toBe(0);
    shared(stage, { checks: [{ command: 'test -e fixed' }, { command: 'true', hint: 'Cannot fail.' }] });
    expect((await stage.ralph('trust', '--show').ended).stdout).toContain('trusted');
    shared(stage, { checks: ['true', 5, ''] });
    const { code, stderr } = await stage.ralph('config').ended;
    expect(code).toBe(2);
    expect(stderr).toContain('.ralph/settings.json:8:5: checks[1] must be a string or an object, got 5');
    expect(stderr).toContain('.ralph/settings.json:9:5: checks[2].command must not be empty');
  });

  it('S2.1 S2.27 S2.54 have every key of document 001, and together with a prompt define a loop', async () => {
    const stage = openLoadedStage();
    shared(stage, {
      maximumIterations: 4,
      completionResponse: 'FIN',
      outputTruncateChars: 4,
      streamAgentOutput: true,
      includeIterationCountInPrompt: true,
      agent: { command: stage.agent, flags: ['--model opus', "--title 'two words'"] },
      guardrails: [{ command: 'echo too long; test -e fixed', failAction: 'PREPEND', hint: 'Make it.' }],
      scm: { command: 'true', tasks: [] },
    });
    stage.plans(1, "echo '<response>FIN</response>'");
    stage.plans(2, ": > fixed; echo '<response>FIN</response>'");
    expect((await run(stage)).code).toBe(0);
    expect(stage.given(1, 'argv')).toBe(
      '--model\nopus\n--title\ntwo words\nIteration 1 of 4, 3 remaining.\n\nwork\n',
    );
    expect(stage.given(2, 'last')).toBe(
      [
        'Iteration 2 of 4, 2 remaining.',
        '',
        'Guardrail "echo too long; test -e fixed" failed with exit code 1.',
        'Hint: Make it.',
        'Output file: .ralph/guardrail_001_echo_too_long_test_e_fixed.log',
        'Output (truncated):',
        'too ... [truncated]',
        '',
        'work',
      ].join('\n'),
    );
  });

  it('apply one completion word to both tags of the default preset, unless each tag has its own', async () => {
    const stage = openLoadedStage();
    stage.settings({ preset: 'default', completionResponse: 'FIN' });
    stage.plans(1, "echo '<promise>DONE</promise>'");
    stage.plans(2, "echo '<promise>FIN</promise>'");
    expect((await stage.run('-p', 'work', '-m', '3')).code).toBe(0);
    expect(stage.calls).toBe(2);
    stage.plans(3, "echo '<response>ALL</response>'");
    expect((await stage.run('-p', 'work', '-m', '1', '--completion-promise', 'ALL')).code).toBe(1);
  });

  it('S2.28 default to ten iterations, DONE, 5000 characters, streamed output and no iteration count', async () => {
    const stage = openLoadedStage();
    const config = await configOf(stage, '--preset', 'ralph-cli');
    expect(
      [
        'maxIterations',
        'completionResponse',
        'outputTruncateChars',
        'streamAgentOutput',
        'includeIterationCountInPrompt',
      ].map((key) => config[key]?.value),
    ).toEqual([10, 'DONE', 5000, true, false]);
    expect(config['maxIterations']?.origin).toBe('default');
    expect(config['iterationTimeout']).toEqual({ value: null, origin: 'preset', place: 'preset ralph-cli' });
  });

  it('S2.30 merge objects, while local numbers, texts and lists replace the shared ones', async () => {
    const stage = openLoadedStage();
    shared(stage, {
      agent: { command: stage.agent, flags: ['--a', '--b'], env: { drop: ['X'] } },
      guardrails: [{ command: 'true' }, { command: 'false' }],
    });
    stage.settings({ agent: { flags: ['--c'] }, guardrails: [{ command: 'true' }] }, 'settings.local.json');
    stage.plans(1, done);
    expect((await run(stage)).code).toBe(0);
    expect(stage.given(1, 'argv')).toBe('--c\nwork\n');
    const config = await configOf(stage);
    expect(config['agent.command']?.value).toBe(stage.agent);
    expect(config['agent.env.drop']?.value).toEqual(['X']);
  });

  it('S2.31 keep the shared agent command and take the local agent flags', async () => {
    const stage = openLoadedStage();
    stage.settings({ agent: { command: 'claude', flags: ['--model opus'] } });
    stage.settings({ agent: { flags: ['--verbose'] } }, 'settings.local.json');
    const config = await configOf(stage);
    expect([config['agent.command']?.value, config['agent.flags']?.value]).toEqual(['claude', ['--verbose']]);
  });

  it('S2.32 S2.54 accept three fail actions, in any case, and nothing else (T040)', async () => {
    const stage = openLoadedStage();
    shared(stage, { guardrails: [{ command: 'false', failAction: 'replace' }] });
    await run(stage, '-m', '2');
    expect(stage.given(2, 'last')).toMatch(/^Guardrail "false" failed with exit code 1\./);
    shared(stage, {
      guardrails: [
        { command: 'true', failAction: 'APPEND' },
        { command: 'true', failAction: 'IGNORE' },
      ],
    });
    const { code, stderr } = await run(stage);
    expect(code).toBe(2);
    expect(stderr).toContain('guardrails[1].failAction must be APPEND, PREPEND, or REPLACE, got "IGNORE"');
  });

  it('S2.94 with errors are rejected with key, index and value, and nothing starts', async () => {
    const stage = openLoadedStage();
    const cases: readonly (readonly [object | string, string])[] = [
      [{ maximumIterations: -1 }, 'maximumIterations must be a positive integer, got -1'],
      [{ maximumIterations: '3' }, 'maximumIterations must be a positive integer, got "3"'],
      [{ completionResponse: ' ' }, 'completionResponse must not be empty'],
      [{ outputTruncateChars: -5 }, 'outputTruncateChars must be a positive integer, got -5'],
      [{ guardrails: [{ command: '' }] }, 'guardrails[0].command must not be empty'],
      [{ guardrails: [{ failAction: 'APPEND' }] }, 'guardrails[0].command must not be empty'],
      [{ guardrails: [{ command: 'x', hint: 7 }] }, 'guardrails[0].hint must be a string, got 7'],
      [
        { guardrails: [{ command: 'x', failAction: 'ignore' }] },
        'guardrails[0].failAction must be APPEND, PREPEND, or REPLACE, got "ignore"',
      ],
      [{ scm: { tasks: ['commit'] } }, 'scm.command must be configured when scm.tasks is non-empty'],
      [{ maxTime: 'soon' }, 'maxTime must be a time such as 90, "90s", "15m" or "2h", got "soon"'],
      [{ emoji: 'yes' }, 'emoji must be true or false, got "yes"'],
      [{ maxCost: 0 }, 'maxCost must be an amount of dollars > 0, got 0'],
      [{ maxIteration: 3 }, 'unknown key "maxIteration" (did you mean maxIterations?)'],
      [{ checks: [{ command: 'x', actoin: 'APPEND' }] }, '"checks[0].actoin" (did you mean action?)'],
      [{ checks: [{ command: '' }] }, 'checks[0].command must not be empty'],
      [{ maximumIteration: 3 }, 'unknown key "maximumIteration" (did you mean maximumIterations?)'],
      [{ sandbox: { wrte: [] } }, 'unknown key "sandbox.wrte" (did you mean write?)'],
      [{ sandbox: { zzz: 1 } }, '"sandbox.zzz" (known keys are checks, write, hide, network)'],
      [{ agent: { comand: 'x' } }, 'unknown key "agent.comand" (did you mean command?)'],
      [
        { guardrails: [{ command: 'x', zzz: 1 }] },
        'unknown key "guardrails[0].zzz" (known keys are command, failAction (or action), hint)',
      ],
      [{ zzz: 1 }, '"zzz" (known keys are $schema, preset, '],
      [{ zzz: 1 }, ', maxIterations (or maximumIterations), '],
      [{ zzz: 1 }, ', checks (or guardrails), '],
      [[1], 'the content must be an object, got [1]'],
      [
        '{ "maximumIterations": 1, }',
        '.ralph/settings.json:1:25: not valid JSON: remove the comma after the last entry',
      ],
      ['{\n "a": 1\n "b": 2 }', '.ralph/settings.json:3:2: not valid JSON: expected ","'],
    ];
    const wrong: unknown[] = [];
    for (const [settings, message] of cases) {
      stage.settings(settings);
      // oxlint-disable-next-line no-await-in-loop -- one file for all
      const { code, stderr } = await run(stage, '--', stage.agent);
      if (code !== 2 || !stderr.includes(message)) wrong.push({ settings, code, stderr });
    }
    expect(wrong).toEqual([]);
    stage.settings({});
    const { code, stderr } = await run(stage);
    expect(code).toBe(2);
    expect(stderr).toContain('agent.command must be configured in settings file');
    expect([stage.calls, stage.loops]).toEqual([0, []]);
  });

  it('with several errors are rejected with the line of each', async () => {
    const stage = openLoadedStage();
    stage.settings('{\n  "maxFailures": 0,\n  "agent": {\n    "flags":\n      "--x"\n  }\n}\n');
    const { stderr } = await run(stage);
    expect(stderr).toBe(
      'ralph: error: failed to load settings: .ralph/settings.json:2:3: maxFailures must be a positive integer, got 0\n' +
        '  .ralph/settings.json:4:5: agent.flags must be a list of strings, got "--x"\n',
    );
  });

  it('S2.95 with zero or empty values mean the default in the shared file, and are rejected in the local one (T040)', async () => {
    const stage = openLoadedStage();
    shared(stage, { maximumIterations: 0, completionResponse: '', outputTruncateChars: 0 });
    stage.plans(1, done);
    expect((await run(stage)).stderr).toContain('starting iteration 1/10');
    stage.settings({ maximumIterations: 0, guardrails: 'x' }, 'settings.local.json');
    const { code, stderr } = await run(stage);
    expect(code).toBe(2);
    expect(stderr).toContain(
      '.ralph/settings.local.json:2:3: maximumIterations must be a positive integer, got 0',
    );
    expect(stderr).toContain('.ralph/settings.local.json:3:3: guardrails must be a list of checks, got "x"');
    const bare = openLoadedStage();
    expect((await run(bare)).stderr).toContain('agent.command must be configured in settings file');
  });

  it('S2.96 are not overridden by `-m 0` and `-c ""`, and a run creates their folder', async () => {
    const stage = openLoadedStage();
    stage.plans(1, done);
    const args = ['--preset', 'ralph-cli', '-m', '0', '-c', '', '--', stage.agent];
    const { code, stderr } = await run(stage, ...args);
    expect(code).toBe(0);
    expect(stderr).toContain('starting iteration 1/10');
    expect(stage.read('.ralph/.gitignore')).toContain('*');
  });

  it('S2.12 are read from one place only', async () => {
    const stage = openLoadedStage();
    stage.write('settings.json', '{ "maximumIterations": 3 }');
    stage.write('sub/.ralph/settings.json', '{ "maximumIterations": 4 }');
    expect((await configOf(stage))['maxIterations']?.value).toBe(10);
    const { code, stderr } = await run(stage, '--settings', 'settings.json');
    expect(code).toBe(2);
    expect(stderr).toContain("unknown option '--settings'");
  });

  it('S2.93 and the prompt are rejected with one line `error: …` and exit code 2', async () => {
    const stage = openLoadedStage();
    stage.settings('{');
    const cases = [
      [['run', '-p', '', '--', stage.agent], 'must specify prompt (--prompt or --prompt-file)'],
      [['run', '-p', 'x', '-f', 'y'], 'cannot specify both --prompt and --prompt-file'],
      [['run', '-f', 'none.md'], 'prompt file not found: none.md'],
      [['run', '-f', 'README.md/none.md'], 'cannot access prompt file: README.md/none.md: '],
      [
        ['run', '-p', ' ', '--', stage.agent],
        'failed to load settings: .ralph/settings.json:1:2: not valid JSON',
      ],
    ] as const;
    for (const [args, message] of cases) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { code, stderr } = await stage.ralph(...args).ended;
      expect(code).toBe(2);
      expect(stderr).toContain(`ralph: error: ${message}`);
    }
    expect(stage.calls).toBe(0);
  });

  it('default `until` to claim without checks and to both with checks', async () => {
    const stage = openLoadedStage();
    const until = async (...args: readonly string[]) => (await configOf(stage, ...args))['until'];
    expect(await until()).toEqual({ value: 'claim', origin: 'default', place: 'default without checks' });
    const checked = ['--check', 'true'];
    expect(await until(...checked)).toMatchObject({ value: 'both', place: 'default with checks' });
    expect(await until(...checked, '--until', 'claim')).toMatchObject({ value: 'claim', place: '--until' });
  });

  it('are shown by ralph config without secrets', async () => {
    const stage = openLoadedStage();
    stage.env['DEPLOY_TOKEN'] = 'very-secret-value';
    shared(stage, {
      agent: { command: stage.agent, flags: ['--api-key', 'abcdefghijk', '--key=sk-0123456789abcdef'] },
      guardrails: [{ command: 'PASSWORD=hunter2hunter2 make test' }, { command: 'echo very-secret-value' }],
    });
    const { stdout } = await stage.ralph('config').ended;
    expect(stdout).toContain('PASSWORD=<redacted> make test');
    expect(stdout).toContain('echo <redacted>');
    for (const secret of ['abcdefghijk', 'sk-0123', 'hunter2', 'very-secret-value']) {
      expect(stdout).not.toContain(secret);
    }
  });

  it('apply as they were when the loop started', async () => {
    const stage = openLoadedStage();
    shared(stage, { maximumIterations: 2 });
    stage.plans(1, 'echo "{ broken" > .ralph/settings.json');
    expect((await run(stage)).code).toBe(1);
    expect(stage.calls).toBe(2);
  });

  it('apply to the output of a resumed loop too', async () => {
    const stage = openLoadedStage();
    shared(stage, { maximumIterations: 1, streamAgentOutput: false });
    stage.plans('default', 'echo something');
    expect((await run(stage)).stdout).toBe('');
    expect((await stage.ralph('resume', 'it', '-m', '2').ended).stdout).toBe('');
    expect((await stage.ralph('resume', 'it', '-m', '3', '--stream-agent-output').ended).stdout).toBe(
      'something\n',
    );
  });

  it('hide from the agent the variables that any file or flag names', async () => {
    const stage = openLoadedStage();
    Object.assign(stage.env, { ONE: '1', TWO: '2', THREE: '3' });
    shared(stage, { agent: { command: stage.agent, env: { drop: ['ONE'] } } });
    stage.settings({ agent: { env: { drop: ['TWO'] } } }, 'settings.local.json');
    await run(stage, '-m', '1', '--drop-env', 'THREE');
    expect(stage.given(1, 'env')).not.toMatch(/^(?:ONE|TWO|THREE)=/m);
    expect((await configOf(stage))['agent.env.drop']?.value).toEqual(['ONE', 'TWO']);
  });

  it('with 3000 errors are rejected with the first 20', async () => {
    const stage = openLoadedStage();
    const guardrails = Array.from({ length: 3000 }, (_, index) => ({
      command: `echo ${index}`,
      failAktion: 'x',
    }));
    stage.settings({ guardrails });
    const { code, stderr } = await stage.ralph('config').ended;
    expect(code).toBe(2);
    expect(stderr.split('\n')).toHaveLength(22);
    expect(stderr).toContain('… and 2980 more');
  });

  it('of an agent do not apply if another agent is chosen', async () => {
    const stage = openLoadedStage();
    shared(stage, { agent: { command: 'claude', flags: ['--x'], model: 'opus', env: { drop: ['X'] } } });
    const config = await configOf(stage, '--agent', 'codex');
    expect(['command', 'flags', 'model', 'name'].map((key) => config[`agent.${key}`]?.value)).toEqual([
      null,
      null,
      null,
      'codex',
    ]);
    expect(config['agent.env.drop']?.value).toEqual(['X']);
  });

  it('with impossible values are rejected with file and line', async () => {
    const stage = openLoadedStage();
    for (const [settings, message] of [
      [{ maxTime: 1e21 }, '.ralph/settings.json:2:3: maxTime must be a time'],
      [{ restartDelay: '99999999999999999999d' }, '.ralph/settings.json:2:3: restartDelay must be'],
      [{ scm: { command: 'git', tasks: ['x "y'] } }, '.ralph/settings.json:5:7: scm.tasks[0] must be'],
      [{ guardrails: [{ command: 'a\0b' }] }, 'guardrails[0].command must be a string without NUL'],
      [
        { agent: { env: { drop: ['not a name'] } } },
        'agent.env.drop[0] must be the name of an environment variable',
      ],
    ] as const) {
      stage.settings(settings);
      // oxlint-disable-next-line no-await-in-loop -- one file for all
      const { code, stderr } = await stage.ralph('config').ended;
      expect({ settings, code }).toEqual({ settings, code: 2 });
      expect(stderr).toContain(message);
    }
  });
});
