import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { tagsOfNeeds } from '../rig/needs.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/agents/*.test.ts'],
    // An agent may need seconds to start, and a loop starts it several times.
    testTimeout: 180_000,
    // opencode installs thousands of files into its home, which take a while to delete on a busy machine.
    hookTimeout: 120_000,
    // A loop waits for the end of a timeout, and an agent may need half a minute to start.
    env: { RALPH_TEST_PATIENCE_MS: '150000' },
    // The agents mostly wait, so their files run at the same time on any machine.
    maxWorkers: 3,
    tags: tagsOfNeeds(),
    globalSetup: ['test/rig/needs.ts', 'test/rig/build.ts'],
    reporters: ['default', './test/rig/needs-reporter.ts'],
  },
});

// oxlint-disable-next-line import/no-default-export -- required by vitest
export default config;
