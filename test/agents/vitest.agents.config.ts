import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/agents/*.test.ts'],
    // An agent may need seconds to begin, and a loop begins it several times.
    testTimeout: 180_000,
    globalSetup: ['test/rig/build.ts'],
  },
});

// oxlint-disable-next-line import/no-default-export -- the runner wants it so
export default config;
