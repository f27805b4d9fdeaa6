// The command as CommonJS in a few files: Node loads it much faster than many modules (docs/decisions/0006).
import { copyFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { build } from 'rolldown';

// commander loads node:child_process for commands that are programs of their own; we have none, and it takes its time.
const withoutPrograms = {
  name: 'without-programs',
  resolveId: (id, importer) =>
    id === 'node:child_process' && importer?.includes('/commander/') ? '\0no-programs' : null,
  load: (id) => (id === '\0no-programs' ? 'module.exports = {};' : null),
};

const ANSWERS =
  /src\/(?:user-error|control\/(?:names|owner|layout|spec|registry|replace)|compose\/(?:read-loop|loop-summary|spend|end-record|times)|cli\/(?:status|ls|columns|tokens|print|terminal|loops|workspace|errors)|journal\/(?:file|journal|snapshot|account|crc32|times)|process\/(?:processes|procfs|ps)|loop\/(?:evolve|decide|limits|outcome|failure|run|claim|default-policy|prompt-plan))\.ts$/;

await build({
  input: { main: 'src/cli/main.ts', 'demo-agent': 'src/cli/demo-agent.ts' },
  platform: 'node',
  plugins: [withoutPrograms],
  // Half a megabyte of prices, for the few who need it.
  external: ['@pydantic/genai-prices'],
  output: {
    dir: 'dist/cli',
    format: 'cjs',
    chunkFileNames: '[name].js',
    // Every file costs its time: what answers short questions comes in one.
    codeSplitting: { groups: [{ name: 'answers', test: ANSWERS }] },
    // Half the text is half the time to read it; `node --enable-source-maps` makes a stack trace readable again.
    minify: true,
    sourcemap: true,
  },
});
writeFileSync('dist/cli/package.json', '{ "type": "commonjs" }\n');
// Their code is in the bundle, so their licences go with it.
for (const file of [
  'commander/LICENSE',
  'js-yaml/LICENSE',
  'zod/LICENSE',
  '@clack/prompts/LICENSE',
  '@clack/core/LICENSE',
  'fast-string-truncated-width/license',
  'fast-string-width/license',
  'fast-wrap-ansi/LICENSE',
  'sisteransi/license',
]) {
  const name = dirname(file).replace('@', '').replace('/', '-');
  copyFileSync(`node_modules/${file}`, `dist/cli/${name}.LICENSE`);
}
