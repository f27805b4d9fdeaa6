/** What Ralph says that a real agent has used, however its run ends, beside what its model counts: at most 2 % apart. */
import { beforeAll, describe, expect, it } from 'vitest';
import { until } from '../rig/cli/until.ts';
import { openArena, type Arena } from './arena.ts';
import { install } from './install.ts';
import { at } from './json.ts';
import type { Model } from './model-server.ts';
import { REAL_AGENTS } from './real-agent.ts';
import { runs, says, type Turn, type Usage } from './script.ts';
import { CLAIM } from './whole-loop.ts';

/** One answer may be under way when a run is cut off; of so many it is less than 1 %. */
const ANSWERS = 120;
const EACH: Usage = { input: 1000, cached: 200, output: 4000 };
/** Different commands: some agents stop when they repeat themselves. */
const work = (count: number): readonly Turn[] =>
  Array.from({ length: count }, (_, index) => runs(`echo step ${index}`, EACH));
const ENDLESS = work(4000);

interface Ending {
  readonly name: string;
  readonly script: readonly Turn[];
  readonly options?: readonly string[];
  /** What a person or the system does when the model has answered often enough. */
  readonly act?: (arena: Arena, loop: ReturnType<Arena['starts']>) => Promise<unknown>;
}

const ENDINGS: readonly Ending[] = [
  { name: 'it ends by itself', script: [...work(20), says(CLAIM, EACH)] },
  { name: 'it reaches a token limit', script: ENDLESS, options: ['--max-tokens', String(ANSWERS * 5200)] },
  {
    name: 'it is interrupted twice',
    script: ENDLESS,
    act: async (_, loop) => {
      loop.signal('SIGINT');
      await loop.until('SIGINT');
      loop.signal('SIGINT');
    },
  },
  {
    name: 'its time is over',
    script: ENDLESS,
    options: ['--iteration-timeout', '30s'],
  },
  {
    name: 'it is killed',
    script: [...work(ANSWERS), runs('timeout 1 tail -f /dev/null; kill -9 $PPID', EACH), says('late', EACH)],
  },
  {
    name: 'its owner is killed, and the next one stops it',
    script: ENDLESS,
    act: async ({ stage }, loop) => {
      loop.signal('SIGKILL');
      await loop.ended;
      const next = stage.ralph('resume', 'it');
      await next.until('reattached');
      await stage.ralph('stop', 'it', '--now').ended;
      await next.ended;
    },
  },
];

/** Waits for enough answers; the time for the next few is limited. */
async function answers(model: Model): Promise<void> {
  for (let count = 5; count <= ANSWERS; count += 5)
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await until(`${count} answers`, () => (answered(model).length >= count ? true : null));
}

const answered = (model: Model): readonly Usage[] => model.requests.flatMap(({ used }) => used ?? []);
const sumOf = (all: readonly Usage[]) => ({
  input: all.reduce((sum, { input }) => sum + input, 0),
  cacheRead: all.reduce((sum, { cached }) => sum + cached, 0),
  output: all.reduce((sum, { output }) => sum + output, 0),
});

// The Copilot CLI writes its usage when it ends, and not when it is stopped.
const AGENTS = ['claude', 'codex', 'opencode', 'gemini', 'qwen'] as const;

describe.each(AGENTS)('the usage of %s', (name) => {
  const agent = REAL_AGENTS[name];
  let bin = '';
  beforeAll(async () => {
    bin = await install(agent.package);
  }, 600_000);

  it.each(ENDINGS)('is what its model counts when $name', async ({ script, options = [], act }) => {
    const arena = await openArena(agent, bin, script);
    const loop = arena.starts(['Work.', '-m', '1', ...options]);
    if (act !== undefined) {
      await answers(arena.model);
      await act(arena, loop);
    }
    await loop.ended;
    const truth = sumOf(answered(arena.model));
    const { tokens } = arena.stage.state;
    const ratios = (['input', 'cacheRead', 'output'] as const).map(
      (kind) => Number(at(tokens, kind)) / truth[kind],
    );
    expect(Math.min(...ratios)).toBeGreaterThanOrEqual(0.98);
    expect(Math.max(...ratios)).toBeLessThanOrEqual(1.02);
  });
});
