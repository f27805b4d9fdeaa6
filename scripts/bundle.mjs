/**
 * Bundles what the package would otherwise depend on at run time (docs/decisions/0006): the command as CommonJS in a few
 * files, because Node loads those much faster than many modules, and the price table and the YAML parser for the library.
 */
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { build } from 'rolldown';

const PRICES = '@pydantic/genai-prices';
const PRICES_FILE = 'genai-prices.js';
// The CommonJS build of jsonc-parser cannot be bundled.
const WITH_MODULES = { mainFields: ['module', 'main'] };

// tsc has compiled `prices.ts` with an import of the package; this version imports the bundled table instead.
await build({
  input: { prices: 'src/agents/prices.ts' },
  platform: 'node',
  output: { dir: 'dist/agents', format: 'esm', chunkFileNames: PRICES_FILE, minify: true },
});
copyLicence(`${PRICES}/LICENSE`, 'dist/agents');

// Files of the library that import packages, which tsc has left in them: what reads YAML, and what reads plans.
await bundleAlone('src/bus/yaml.ts', 'dist/bus', ['js-yaml/LICENSE']);
await bundleAlone('src/plan/markdown.ts', 'dist/plan', [
  'markdown-it/LICENSE',
  'entities/LICENSE',
  'linkify-it/LICENSE',
  'mdurl/LICENSE',
  'punycode.js/LICENSE-MIT.txt',
  'uc.micro/LICENSE.txt',
]);
await bundleAlone('src/config/json-text.ts', 'dist/config', ['jsonc-parser/LICENSE.md']);

await build({
  input: { main: 'src/cli/main.ts', 'demo-agent': 'src/cli/demo-agent.ts' },
  platform: 'node',
  resolve: WITH_MODULES,
  plugins: [withoutChildProcess(), withoutUnusedMcp(), withSharedPrices(), withSharedParser()],
  output: {
    dir: 'dist/cli',
    format: 'cjs',
    chunkFileNames: '[name].js',
    // Each file costs time to load, so everything that `ralph status NAME` needs is in one.
    codeSplitting: {
      groups: [
        {
          name: 'answers',
          test: withImports(['status', 'errors', 'wake-daemon'].map((name) => `src/cli/${name}.ts`)),
        },
      ],
    },
    minify: true,
    // Not in the package; for `node --enable-source-maps` in a checkout.
    sourcemap: true,
  },
});
writeFileSync('dist/cli/package.json', '{ "type": "commonjs" }\n');
// npm makes it executable once, when it links or installs it; a later build must not take that away.
chmodSync('dist/cli/main.js', 0o755);
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
]) {
  copyLicence(file, 'dist/cli');
}

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

/** commander imports node:child_process for commands that are separate programs; Ralph has none, and loading it is slow. */
function withoutChildProcess() {
  return {
    name: 'without-child-process',
    resolveId: (id, importer) =>
      id === 'node:child_process' && importer?.includes('/commander/') ? '\0no-child-process' : null,
    load: (id) => (id === '\0no-child-process' ? 'module.exports = {};' : null),
  };
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

/** The price table is large, so the command imports the library's copy. */
function withSharedPrices() {
  return {
    name: 'with-shared-prices',
    resolveId: (id) => (id === PRICES ? { id: `../agents/${PRICES_FILE}`, external: 'absolute' } : null),
  };
}

/** The same for the Markdown parser. */
function withSharedParser() {
  return {
    name: 'with-shared-parser',
    resolveId: (id, importer) =>
      id === './markdown.ts' && importer?.includes('/src/plan/')
        ? { id: '../plan/markdown.js', external: 'absolute' }
        : null,
  };
}

/** Matches the given source files and everything that they import statically. */
function withImports(files) {
  const found = new Set();
  const add = (file) => {
    if (found.has(file)) return;
    found.add(file);
    const imports = readFileSync(file, 'utf8').matchAll(
      /^(?:import|export) (?!type\b)[^;]*?from '(\.[^']+)';/gm,
    );
    for (const [, path] of imports) add(resolve(dirname(file), path));
  };
  for (const file of files) add(resolve(file));
  return (id) => found.has(id);
}

function copyLicence(file, folder) {
  const name = dirname(file).replace('@', '').replace('/', '-');
  copyFileSync(`node_modules/${file}`, `${folder}/${name}.LICENSE`);
}
