import { availableParallelism } from 'node:os';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { LongestFirst } from './test/rig/longest-first.ts';
import { tagsOfNeeds } from './test/rig/needs.ts';
import { asOneModule } from './test/rig/one-module.ts';

// Node reads the certificates of this bundle at every start, which takes longer than the start itself, and no test
// reaches a network.
delete process.env['NODE_EXTRA_CA_CERTS'];

// The machine of a test need not stay awake, and may have no program for it.
process.env['PATH'] = `${import.meta.dirname}/test/rig/bin:${process.env['PATH']}`;

const config: ViteUserConfig = defineConfig({
  // They only compute, for longer than any others.
  plugins: [
    asOneModule(
      ['engine-histories', 'histories-1', 'histories-2'].map((name) => `test/simulation/${name}.test.ts`),
    ),
  ],
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Minutes, and half a gigabyte to fetch: `npm run test:agents`.
    exclude: [
      'test/agents/real-agents*.test.ts',
      'test/agents/sandbox.test.ts',
      'test/agents/mcp.test.ts',
      'test/agents/interactive.test.ts',
      'test/agents/session-*.test.ts',
    ],
    allowOnly: false,
    // The files of a worker share a process: a new one for each costs more than most of the tests. A test puts back what
    // it changes of its process (environment, folder, timers).
    isolate: false,
    // Most tests wait for their own processes half of the time. With three per core the whole takes as long, and each test longer.
    maxWorkers: availableParallelism() * 2,
    // With V8's small young generation the simulation of the engine copies the same objects again and again: a quarter of its time.
    execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=32'],
    sequence: { sequencer: LongestFirst },
    // Generous: a busy machine must not fail a test, and a test that hangs still fails.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    tags: tagsOfNeeds(),
    globalSetup: ['test/rig/needs.ts', 'test/rig/build.ts', 'test/rig/temporary-folder.ts'],
    reporters: ['default', './test/rig/needs-reporter.ts', './test/contract/reporter.ts'],
  },
});

export default config;
