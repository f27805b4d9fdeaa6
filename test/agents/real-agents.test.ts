/**
 * Whole loops with the real CLIs and a scripted model, through the built command: `npm run test:agents`. The first run
 * downloads more than 500 MB, and every run takes minutes, so `npm test` has only `one-real-agent.test.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { lives } from '../rig/cli/leftovers.ts';
import { openArena, type Arena } from './arena.ts';
import { install } from './install.ts';
import { mentions } from './model-server.ts';
import { REAL_AGENTS, type RealAgent } from './real-agent.ts';
import { fails, hangs, isLimited, runs, says, USAGE, type Turn } from './script.ts';
import { CHECK, CLAIM, endedWith, FIX, runTooEarly, TASK, TOO_EARLY } from './whole-loop.ts';

describe.each(Object.values(REAL_AGENTS))('$name', (agent) => {
  const open = arenaOf(agent);

  it('claims too early, fixes the failing check with its own shell, and is done', async () => {
    expect.hasAssertions();
    await runTooEarly(agent, await open(TOO_EARLY));
  });

  it('gets a complete prompt of 1 MB', async () => {
    const { run, model, stage } = await open([says(CLAIM)]);
    const line = 'A line of the task, with "quotes", a \\backslash and a few näive lëtters.\n';
    const task = `First of all.\n${line.repeat(Math.ceil(2 ** 20 / Buffer.byteLength(line)))}Last of all.`;
    stage.write('task.md', task);
    endedWith(0, await run(['-f', 'task.md', '-m', '1']));
    expect(model.requests.some((one) => one.turn === 0 && mentions(one, task))).toBe(true);
  });

  it('gets a prompt that begins with - as an argument', async () => {
    const { run, model, stage } = await open([says(CLAIM)]);
    const task = '---\ntitle: a task\n---\n\n- the first item';
    stage.write('task.md', task);
    endedWith(0, await run(['-f', 'task.md', '-m', '1', '--prompt-via', 'argument']));
    expect(model.requests.some((one) => one.turn === 0 && mentions(one, task))).toBe(true);
  });

  it('writes a commit message whose usage counts', async () => {
    const { run, stage } = await open([runs(FIX), says(CLAIM), says('Add the file')]);
    const scm = { command: 'git -c user.name=t -c user.email=t@t', tasks: ['commit'] };
    stage.write('.ralph/settings.json', JSON.stringify({ scm }));
    const { stderr } = endedWith(0, await run([...TASK, '-m', '1']));
    expect(stage.git('log', '-1', '--format=%s')).toBe('Add the file\n');
    const [input, output, cached] = [USAGE.input, USAGE.output, USAGE.cached].map((count) => 3 * count);
    expect(stderr).toContain(`tokens: ${input} in, ${output} out, ${cached} cache read, 0 cache write\n`);
  });

  it('is stopped with its tool when the model is silent for too long', async () => {
    const { stderr, toolLives } = await cutOff('--inactivity-timeout', () =>
      open([runs('sh leave.sh'), hangs()]),
    );
    expect(stderr).toContain('inactivity timeout');
    expect(toolLives).toBe(false);
  });

  it('is stopped with its tool when the tool takes too long', async () => {
    const { stderr, toolLives } = await cutOff('--iteration-timeout', () => open([runs('sh stay.sh')]));
    expect(stderr).toContain('agent timeout after');
    expect(toolLives).toBe(false);
  });

  it('retries provider errors by itself without a failed iteration', async () => {
    const { run, model, stage } = await open([fails('broken'), fails('overloaded'), runs(FIX), says(CLAIM)]);
    endedWith(0, await run([...TASK, '-m', '1']));
    expect(stage.state).toMatchObject({ current_iteration: 1, runs: 1, total_failures: 0 });
    expect(model.requests.map(({ turn }) => turn)).toEqual(expect.arrayContaining([0, 1, 2, 3]));
  });

  it('ends the loop at once when its credentials are refused, with a remedy', async () => {
    const { run, model, stage } = await open([fails('unauthorized')]);
    const { stderr } = endedWith(3, await run(TASK));
    expect(stage.state['outcome']).toMatchObject({ type: 'fatal' });
    expect(stderr).toMatch(/log in with|set [A-Z_]+_(?:KEY|TOKEN)/);
    expect(stage.journal.filter(({ type }) => type === 'run.planned')).toHaveLength(1);
    // Some CLIs retry for minutes; Ralph does not wait for that.
    expect(model.requests.length).toBeLessThan(8);
  });
});

describe('the usage of codex', () => {
  const open = arenaOf(REAL_AGENTS.codex);

  it('is known of a run that fails, and of one that is stopped during a tool call', async () => {
    const failing = await open([runs(FIX), fails('unauthorized')]);
    const failed = await failing.run([...TASK, '-m', '1']);
    expect(failed.stderr).toContain('tokens: 1000 in, 30 out, 200 cache read, 0 cache write\n');
    const { stage } = await cutOff('--iteration-timeout', () => open([runs('sh stay.sh')]));
    expect(stage.state).toMatchObject({ tokens: { input: 1000, output: 30 }, runs_of_unknown_tokens: 0 });
  });

  it('is known of a commit message in the text mode of document 001', async () => {
    const { run, stage } = await open([runs(FIX), says('<response>DONE</response>'), says('Add the file')]);
    const scm = { command: 'git -c user.name=t -c user.email=t@t', tasks: ['commit'] };
    stage.write('.ralph/settings.json', JSON.stringify({ preset: 'ralph-cli', scm }));
    const { stderr } = endedWith(0, await run(['-p', '- make the check pass', '-m', '1']));
    expect(stage.git('log', '-1', '--format=%s')).toBe('Add the file\n');
    expect(stderr).toContain('tokens: 3000 in, 90 out, 600 cache read, 0 cache write\n');
  });
});

describe('the usage of opencode', () => {
  const open = arenaOf(REAL_AGENTS.opencode);

  it('has every request, since it does not ask for a title', async () => {
    const { run, model } = await open([runs(FIX), says(CLAIM)]);
    const { stderr } = endedWith(0, await run([...TASK, '-m', '1']));
    expect(model.requests.map(({ turn }) => turn)).toEqual([0, 1]);
    expect(stderr).toContain('tokens: 2000 in, 60 out, 400 cache read, 0 cache write\n');
  });
});

/**
 * The others do not report a limit, or not in time: opencode, Qwen Code and the Copilot CLI retry by themselves, so a limit
 * of a few seconds is over before they report it. They report a longer one after one minute (Copilot), later (opencode) or
 * never (Qwen Code).
 */
describe.each([
  // It reports a reset time only with a subscription.
  {
    agent: REAL_AGENTS.claude,
    env: { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: 'a-token-that-opens-nothing' },
    waits: /waiting until \S+ \(\ds\)/,
  },
  // It reports the reset time in minutes.
  { agent: REAL_AGENTS.codex, env: {}, waits: /waiting until/ },
  // It does not report when a daily quota resets.
  { agent: REAL_AGENTS.gemini, env: {}, waits: /waiting until/ },
])('a usage limit of $agent.name', ({ agent, env, waits }) => {
  const open = arenaOf(agent);

  it('makes the loop wait and does not count as an iteration', async () => {
    const { run, model, stage } = await open([isLimited(5), runs(FIX), says(CLAIM)]);
    const { stderr } = endedWith(0, await run([...TASK, '-m', '1'], env));
    expect(stage.state).toMatchObject({ current_iteration: 1, total_failures: 0 });
    expect(stderr).toMatch(waits);
    expect(stderr).toContain('2 runs, 1 usage limit');
    expect(model.requests.map(({ turn }) => turn)).toEqual([0, 1, 2]);
  });
});

/** Installs the agent before the first test, and opens an arena with `FILES` for each test. */
function arenaOf(agent: RealAgent): (script: readonly Turn[]) => Promise<Arena> {
  let bin = '';
  beforeAll(async () => {
    bin = await install(agent.package);
  }, 600_000);
  return async (script) => {
    const arena = await openArena(agent, bin, script);
    for (const [file, content] of Object.entries(FILES)) arena.stage.write(file, content);
    return arena;
  };
}

/** In files, because Claude Code inspects commands and rejects `sleep`. */
const FILES = {
  'check.sh': CHECK,
  'leave.sh': 'sleep 777 >/dev/null 2>&1 & echo $! >tool.pid\n',
  'stay.sh': 'echo $$ >tool.pid; exec sleep 777\n',
};

/**
 * Lets an agent time out while it uses its tool. How long it takes to start the tool is unknown, so the limit grows until it
 * does. Whenever the agent times out, no process may be left.
 */
async function cutOff(
  option: string,
  open: () => Promise<Arena>,
): Promise<{ stderr: string; toolLives: boolean; stage: Arena['stage'] }> {
  for (const limit of ['3s', '10s', '30s', '60s']) {
    // oxlint-disable no-await-in-loop -- a longer limit is tried only if this one was too short
    const { run, stage } = await open();
    const { stderr } = endedWith(1, await run([...TASK, '-m', '1', option, limit]));
    // oxlint-enable no-await-in-loop
    expect(stage.running).toEqual([]);
    const tool = stage.path('tool.pid');
    if (existsSync(tool)) return { stderr, stage, toolLives: lives(Number(readFileSync(tool, 'utf8'))) };
  }
  throw new Error('the agent did not start its tool within 60 seconds');
}
