import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    allowOnly: false,
    globalSetup: ['test/rig/build.ts'],
  },
});

export default config;
