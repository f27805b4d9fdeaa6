// The command as CommonJS in a few files: Node loads it much faster than many modules (docs/decisions/0006).
import { copyFileSync, writeFileSync } from 'node:fs';
import { build } from 'rolldown';

await build({
  input: { main: 'src/cli/main.ts', 'demo-agent': 'src/cli/demo-agent.ts' },
  platform: 'node',
  output: { dir: 'dist/cli', format: 'cjs', chunkFileNames: '[name].js' },
});
writeFileSync('dist/cli/package.json', '{ "type": "commonjs" }\n');
// Its code is in the bundle, so its licence goes with it.
copyFileSync('node_modules/commander/LICENSE', 'dist/cli/commander.LICENSE');
