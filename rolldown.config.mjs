import { copyFileSync, writeFileSync } from 'node:fs';
import { defineConfig } from 'rolldown';

// The command as CommonJS in a few files: Node loads it much faster than many modules (docs/decisions/0006).
export default defineConfig({
  input: { main: 'src/cli/main.ts', 'demo-agent': 'src/cli/demo-agent.ts' },
  platform: 'node',
  logLevel: 'warn',
  output: { dir: 'dist/cli', format: 'cjs', chunkFileNames: '[name].js' },
  plugins: [
    {
      name: 'what has to lie beside it',
      writeBundle() {
        writeFileSync('dist/cli/package.json', '{ "type": "commonjs" }\n');
        copyFileSync('node_modules/commander/LICENSE', 'dist/cli/commander.LICENSE');
      },
    },
  ],
});
