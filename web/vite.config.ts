/** Builds the page into `dist/web` as static files, which need nothing from anywhere else. */
import { fileURLToPath } from 'node:url';
import type { UserConfig } from 'vite';

const config: UserConfig = {
  root: import.meta.dirname,
  base: '/',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../dist/web', import.meta.url)),
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: false,
    // The policy of the page allows no `data:`.
    assetsInlineLimit: 0,
  },
};

// oxlint-disable-next-line import/no-default-export -- vite wants it
export default config;
