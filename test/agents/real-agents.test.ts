/**
 * Whole loops with the real CLIs and a scripted model, through the built command: `npm run test:agents`. They fetch more
 * than half a gigabyte the first time and take minutes every time, so the gate does without them;
 * `one-real-agent.test.ts` stands in for them there.
 */
import { existsSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { lives } from '../rig/cli/leftovers.ts';
import { openArena, type Arena } from './arena.ts';
import { install } from './install.ts';
import { mentions } from './model-server.ts';
import { REAL_AGENTS, type RealAgent } from './real-agent.ts';
import { fails, hangs, isLimited, runs, says, type Turn } from './script.ts';
import { CHECK, CLAIM, endedWith, FIX, liveThrough, TASK, TOO_EARLY } from './whole-loop.ts';

describe.each(Object.values(REAL_AGENTS))('$name', (agent) => {
  const open = arenaOf(agent);

  it('is contradicted by a check, fixes it with its own shell, and is done', async () => {
    expect.hasAssertions();
    await liveThrough(agent, await open(TOO_EARLY));
  });

  it('gets a prompt of a megabyte whole', async () => {
    const { run, model, stage } = await open([says(CLAIM)]);
    const line = 'A line of the task, with "quotes", a \\backslash and a few näive lëtters.\n';
    const task = `First of all.\n${line.repeat(Math.ceil(2 ** 20 / Buffer.byteLength(line)))}Last of all.`;
    stage.write('task.md', task);
    endedWith(0, await run(['-f', 'task.md', '-m', '1']));
    expect(model.requests.some((one) => one.turn === 0 && mentions(one, task))).toBe(true);
  });

  it('that is silent while its tool may be alive is cut off, and nothing of it is left', async () => {
    const { stderr, toolLives } = await cutOff('--inactivity-timeout', () =>
      open([runs('sh leave.sh'), hangs()]),
    );
    expect(stderr).toContain('inactivity timeout');
    expect(toolLives).toBe(false);
  });

  it('that takes too long over a tool is cut off, and nothing of it is left', async () => {
    const { stderr, toolLives } = await cutOff('--iteration-timeout', () => open([runs('sh stay.sh')]));
    expect(stderr).toContain('agent timeout after');
    expect(toolLives).toBe(false);
  });

  it('tries again by itself when the provider fails now and then, and that is no failure of the loop', async () => {
    const { run, model, stage } = await open([fails('broken'), fails('overloaded'), runs(FIX), says(CLAIM)]);
    endedWith(0, await run([...TASK, '-m', '1']));
    expect(stage.state).toMatchObject({ current_iteration: 1, runs: 1, total_failures: 0 });
    expect(model.requests.map(({ turn }) => turn)).toEqual(expect.arrayContaining([0, 1, 2, 3]));
  });

  it('that is not let in ends the loop at once, and the user learns what to do', async () => {
    const { run, model, stage } = await open([fails('unauthorized')]);
    const { stderr } = endedWith(3, await run(TASK));
    expect(stage.state['outcome']).toMatchObject({ type: 'fatal' });
    expect(stderr).toMatch(/log in with|set [A-Z_]+_(?:KEY|TOKEN)/);
    expect(stage.journal.filter(({ type }) => type === 'run.planned')).toHaveLength(1);
    // Some try again by themselves for minutes: nobody waits for that.
    expect(model.requests.length).toBeLessThan(8);
  });
});

/**
 * The others do not show a limit, or not in time: opencode, Qwen Code and the Copilot CLI try again by themselves, so one
 * that ends in seconds is over before they say a word; one that lasts shows after one minute (Copilot) or more
 * (opencode), or never (Qwen Code).
 */
describe.each([
  // It believes in a limit with a reset only when a subscription pays.
  {
    agent: REAL_AGENTS.claude,
    env: { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: 'a-token-that-opens-nothing' },
    waits: /waiting until \S+ \(\ds\)/,
  },
  // It tells the minute in which the limit ends, and no more.
  { agent: REAL_AGENTS.codex, env: {}, waits: /waiting until/ },
  // It keeps to itself when the quota of a day ends.
  { agent: REAL_AGENTS.gemini, env: {}, waits: /waiting until/ },
])('a usage limit of $agent.name', ({ agent, env, waits }) => {
  const open = arenaOf(agent);

  it('is waited for, and is no iteration', async () => {
    const { run, model, stage } = await open([isLimited(5), runs(FIX), says(CLAIM)]);
    const { stderr } = endedWith(0, await run([...TASK, '-m', '1'], env));
    expect(stage.state).toMatchObject({ current_iteration: 1, total_failures: 0 });
    expect(stderr).toMatch(waits);
    expect(stderr).toContain('2 runs, 1 usage limit');
    expect(model.requests.map(({ turn }) => turn)).toEqual([0, 1, 2]);
  });
});

/** Installs the agent before the first test, and opens an arena for each that has the scripts of which turns speak. */
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

/** In files, since Claude Code looks into commands and does not let a model sleep. */
const FILES = {
  'check.sh': CHECK,
  'leave.sh': 'sleep 777 >/dev/null 2>&1 & echo $! >tool.pid\n',
  'stay.sh': 'echo $$ >tool.pid; exec sleep 777\n',
};

/**
 * Has an agent cut off by a time limit while it uses its tool. Nobody knows how long it takes to get as far as that, so
 * the limit grows until it does; whenever it is cut off, nothing may be left.
 */
async function cutOff(
  option: string,
  open: () => Promise<Arena>,
): Promise<{ stderr: string; toolLives: boolean }> {
  for (const limit of ['3s', '10s', '30s', '60s']) {
    // oxlint-disable no-await-in-loop -- the next is tried only if this one was too short
    const { run, stage } = await open();
    const { stderr } = endedWith(1, await run([...TASK, '-m', '1', option, limit]));
    // oxlint-enable no-await-in-loop
    expect(stage.running).toEqual([]);
    const tool = stage.path('tool.pid');
    if (existsSync(tool)) return { stderr, toolLives: lives(Number(readFileSync(tool, 'utf8'))) };
  }
  throw new Error('it has never got as far as its tool');
}
