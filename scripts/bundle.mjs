/**
 * Bundles what the package would otherwise depend on at run time (docs/decisions/0006): the command as CommonJS in a few
 * files, because Node loads those much faster than many modules, and the price table and the YAML parser for the library.
 */
import { chmodSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { build } from 'rolldown';
import { build as buildPage } from 'vite';
import { together } from './groups.mjs';
import { withPlainExports } from './plain-exports.mjs';
import { PRICES, withPriceTable } from './price-table.mjs';

// The CommonJS build of jsonc-parser cannot be bundled.
const WITH_MODULES = { mainFields: ['module', 'main'] };

// tsc has compiled `prices.ts` with an import of the package; this version imports the bundled code and table instead.
await build({
  input: { prices: 'src/agents/prices.ts' },
  platform: 'node',
  plugins: [withPriceTable('.')],
  output: { dir: 'dist/agents', format: 'esm', chunkFileNames: 'genai-prices.js', minify: true },
});
copyLicence(`${PRICES}/LICENSE`, 'dist/agents');

// Files of the library that import packages, which tsc has left in them: what reads YAML, plans and settings.
await bundleAlone('src/bus/yaml.ts', 'dist/bus', ['js-yaml/LICENSE']);
await bundleAlone('src/checks/markdown.ts', 'dist/checks', [
  'markdown-it/LICENSE',
  'entities/LICENSE',
  'linkify-it/LICENSE',
  'mdurl/LICENSE',
  'punycode.js/LICENSE-MIT.txt',
  'uc.micro/LICENSE.txt',
]);
await bundleAlone('src/files/json-text.ts', 'dist/files', ['jsonc-parser/LICENSE.md']);
// The hook reads settings files. What the file takes from others of the library is plain data.
await bundleAlone('src/settings/schema.ts', 'dist/settings', ['zod/LICENSE']);

// For `ralph watch` alone. It cannot be bundled as CommonJS: the layout engine of ink is loaded with a top-level `await`.
const { output: inkFiles } = await build({
  input: 'src/tui/ink.ts',
  platform: 'node',
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  plugins: [withOwnTerminal(), withWholeFrames()],
  output: { dir: 'dist/tui', format: 'esm', codeSplitting: false, minify: true, charset: 'ascii' },
});
for (const file of licencesOf(inkFiles)) copyLicence(file, 'dist/tui');

// Loaded late, see below.
await build({
  input: { 'yaml-parser': 'src/bus/yaml.ts' },
  platform: 'node',
  output: { dir: 'dist/cli', format: 'cjs', minify: true },
});

await build({
  input: {
    main: 'src/cli/main.ts',
    'demo-agent': 'src/cli/demo-agent.ts',
    'freeze-guard': 'src/background/freeze-guard.ts',
  },
  platform: 'node',
  resolve: WITH_MODULES,
  plugins: [
    withPlainExports(),
    withoutUnusedMcp(),
    withPriceTable('../agents'),
    withSharedParser(),
    withInkApart(),
    withLateModules(),
  ],
  output: {
    dir: 'dist/cli',
    format: 'cjs',
    chunkFileNames: '[name].js',
    codeSplitting: {
      groups: together({
        parser: ['src/cli/program.ts'],
        control: [
          ...['from-inside', 'control', 'status', 'ls'].map((name) => `src/cli/${name}.ts`),
          'src/loops/send.ts',
        ],
        show: ['wait', 'logs', 'story', 'report-loops', 'bus', 'set'].map((name) => `src/cli/${name}.ts`),
        run: ['run', 'drive', 'resume'].map((name) => `src/cli/${name}.ts`),
        hook: ['src/cli/hook.ts'],
      }),
    },
    minify: true,
    // V8 keeps a file with other characters in two bytes for each.
    charset: 'ascii',
    // Not in the package; for `node --enable-source-maps` in a checkout.
    sourcemap: true,
  },
});
writeFileSync('dist/cli/package.json', '{ "type": "commonjs" }\n');
// npm makes it executable once, when it links or installs it; a later build must not take that away.
chmodSync('dist/cli/main.js', 0o755);
// What agents of a loop call that was started as `rud`, where another package may own `ralph`.
mkdirSync('dist/cli/bin', { recursive: true });
writeFileSync('dist/cli/bin/ralph', "#!/usr/bin/env node\nrequire('../main.js');\n", { mode: 0o755 });
for (const file of [
  'commander/LICENSE',
  'js-yaml/LICENSE',
  'jsonc-parser/LICENSE.md',
  '@modelcontextprotocol/core/LICENSE',
  '@modelcontextprotocol/server/LICENSE',
  'zod/LICENSE',
  '@clack/prompts/LICENSE',
  '@clack/core/LICENSE',
  'fast-string-truncated-width/license',
  'fast-string-width/license',
  'fast-wrap-ansi/LICENSE',
  'sisteransi/license',
  'hono/LICENSE',
  '@hono/node-server/LICENSE',
]) {
  copyLicence(file, 'dist/cli');
}

// The page of `ralph ui`: static files, which the command serves.
await buildPage({ configFile: 'web/vite.config.ts' });
for (const file of ['preact/LICENSE', 'diff2html/LICENSE.md', 'uplot/LICENSE']) copyLicence(file, 'dist/web');

// One file without imports, because it is copied to where opencode loads its plugins. Not minified: people look into it.
await build({
  input: { ralph: 'src/programs/opencode/plugin.ts' },
  platform: 'node',
  output: {
    dir: 'dist/plugins/opencode',
    format: 'esm',
    codeSplitting: false,
    // `ralph hook install opencode` replaces the null by how Ralph is called, as a list of words.
    postBanner: '/* Ralph loops in sessions of opencode */\nconst RALPH_COMMAND = null;',
  },
});

/** Replaces a file of the library by one that contains the packages that it imports. */
async function bundleAlone(file, folder, licences) {
  await build({
    input: file,
    platform: 'node',
    resolve: WITH_MODULES,
    output: { dir: folder, format: 'esm', minify: true },
  });
  for (const licence of licences) copyLicence(licence, folder);
}

/**
 * The MCP server contains a validator for forms that it could ask a client to fill in, and a parser of HTTP headers. Ralph has no
 * use for them, they are large, and they are others' work. The bundler drops the parser once its call is marked as pure.
 */
function withoutUnusedMcp() {
  return {
    name: 'without-unused-mcp',
    resolveId: (id) => (id === '@modelcontextprotocol/server/_shims' ? '\0mcp-shims' : null),
    load: (id) =>
      id === '\0mcp-shims'
        ? "export { default as process } from 'node:process'; export class DefaultJsonSchemaValidator {}"
        : null,
    transform: (code, id) =>
      id.includes('@modelcontextprotocol/server')
        ? {
            code: code.replace('require_content_type()', '/* @__PURE__ */ require_content_type()'),
            map: null,
          }
        : null,
  };
}

/** The Markdown parser is large, so the command imports the library's copy. */
function withSharedParser() {
  return {
    name: 'with-shared-parser',
    resolveId: (id, importer) =>
      id === './markdown.ts' && importer?.includes('/src/checks/')
        ? { id: '../checks/markdown.js', external: 'absolute' }
        : null,
  };
}

function withInkApart() {
  return {
    name: 'with-ink-apart',
    resolveId: (id, importer) =>
      id === './ink.ts' && importer?.includes('/src/tui/')
        ? { id: '../tui/ink.js', external: 'absolute' }
        : null,
  };
}

/**
 * After a frame that ends with a line break the cursor is below its last line, and ink 6.8.0 goes back one line too few: the next frame
 * would begin on the second line.
 */
function withWholeFrames() {
  const wrong = 'ansiEscapes.cursorUp(previousVisible - 1)';
  return {
    name: 'with-whole-frames',
    transform(code, id) {
      if (!id.endsWith('/ink/build/log-update.js')) return null;
      if (!code.includes(wrong)) throw new Error(`ink has changed: ${id} has no ${wrong}`);
      return { code: code.replace(wrong, 'ansiEscapes.cursorUp(previousLines.length - 1)'), map: null };
    },
  };
}

/** The canvas gives the terminal back, and decides whether there is one: without these parts ink touches neither signals nor stderr. */
function withOwnTerminal() {
  const instead = {
    'is-in-ci': 'export default false;',
    'signal-exit': 'export default () => () => {};',
    'restore-cursor': 'export default () => {};',
    './devtools.js': '',
  };
  return {
    name: 'with-own-terminal',
    resolveId: (id) => (id in instead ? `\0instead-${id}` : null),
    load: (id) => instead[id.replace('\0instead-', '')] ?? null,
  };
}

/**
 * Loads these modules with the first call of one of their functions: those of Node.js take longer than most commands run, and few loops
 * have YAML to read or to write.
 */
function withLateModules() {
  const yaml = resolve('src/bus/yaml.ts');
  const functions = {
    'node:child_process': ['execFileSync', 'spawn', 'spawnSync'],
    'node:crypto': ['createHmac', 'createHash', 'hash', 'randomBytes', 'randomUUID', 'timingSafeEqual'],
    'node:timers/promises': ['setImmediate', 'setTimeout'],
    'node:zlib': ['crc32', 'deflateSync', 'inflateSync'],
    [yaml]: ['parseYamlHeader', 'parseYaml', 'toYaml'],
  };
  return {
    name: 'with-late-modules',
    resolveId: (id, importer = '') => {
      if (id === './yaml-parser.js') return { id, external: 'absolute' };
      const module = id.startsWith('node:') ? id : resolve(dirname(importer), id);
      return module in functions ? `\0late-${module}` : null;
    },
    load: (id) => {
      const module = id.replace('\0late-', '');
      if (module === id) return null;
      const load = module === yaml ? "require('./yaml-parser.js')" : `process.getBuiltinModule('${module}')`;
      return functions[module]
        .map((name) => `export const ${name} = (...args) => ${load}.${name}(...args);`)
        .join('\n');
    },
  };
}

/** The licences of the packages in a bundle. */
function licencesOf(files) {
  const ids = files.flatMap(({ moduleIds = [] }) => moduleIds);
  const names = ids.flatMap((id) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []);
  return [...new Set(names)].flatMap((name) =>
    readdirSync(`node_modules/${name}`)
      .filter((file) => /^licen[cs]e/i.test(file))
      .map((file) => `${name}/${file}`),
  );
}

function copyLicence(file, folder) {
  const name = dirname(file).replace('@', '').replace('/', '-');
  copyFileSync(`node_modules/${file}`, `${folder}/${name}.LICENSE`);
}
