/**
 * Records every function call of one `ralph run` (one iteration, one check) and prints the folders and files in the order
 * in which they act, with the number of files and of changes from one folder to another: `node scripts/trace-run.mjs`.
 * It bundles the sources with a call in every function, and runs a throwaway loop in a temporary folder.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';
import { isFront } from './count-hall.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SOURCE = join(ROOT, 'src/');
const AGENT = 'cat >/dev/null; echo made >file; echo "<promise>DONE</promise>"';

const folder = mkdtempSync(join(tmpdir(), 'ralph-trace-'));
try {
  const files = await compile();
  print(run().map((number) => files[number]));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Bundles the command with a call in every function; the file of each function by its number. */
async function compile() {
  const files = [];
  const transform = (code, id) =>
    id.startsWith(SOURCE) ? { code: withCalls(code, id, files), map: null } : null;
  await build({
    input: join(SOURCE, 'cli/main.ts'),
    platform: 'node',
    resolve: { mainFields: ['module', 'main'] },
    plugins: [{ name: 'with-calls', transform }],
    output: { dir: join(folder, 'out/cli'), format: 'esm' },
    logLevel: 'silent',
  });
  writeFileSync(join(folder, 'package.json'), readFileSync(join(ROOT, 'package.json')));
  return files;
}

function withCalls(code, id, files) {
  let text = code;
  const bodies = [];
  visit(parseAst(code, { lang: 'ts' }), (node) => {
    if (/Function/.test(node.type) && node.body?.type === 'BlockStatement') bodies.push(node.body.start + 1);
  });
  for (const at of bodies.toSorted((a, b) => b - a)) {
    text = `${text.slice(0, at)}globalThis.traceCall(${files.length});${text.slice(at)}`;
    files.push(relative(SOURCE, id));
  }
  return text;
}

function visit(node, see) {
  if (typeof node !== 'object' || node === null) return;
  if (typeof node.type === 'string') see(node);
  for (const part of Object.values(node)) visit(part, see);
}

/** Runs one loop; the numbers of the functions in the order of their calls. */
function run() {
  const hook = join(folder, 'hook.mjs');
  const calls = join(folder, 'calls.json');
  writeFileSync(
    hook,
    `import { writeFileSync } from 'node:fs';
     const calls = [];
     globalThis.traceCall = (number) => calls.push(number);
     process.on('exit', () => writeFileSync(process.env.TRACE_CALLS, JSON.stringify(calls)));`,
  );
  const cwd = join(folder, 'repository');
  const home = join(folder, 'home');
  for (const path of [cwd, home]) mkdirSync(path);
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_STATE_HOME: home,
    TRACE_CALLS: calls,
    GIT_CONFIG_GLOBAL: '/dev/null',
  };
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=trace', '-c', 'user.email=trace@localhost', ...args], { cwd, env });
  git('init', '--quiet');
  git('commit', '--quiet', '--allow-empty', '--message', 'start');
  const command = ['run', 'make file', '--check', 'test -f file', '--', 'sh', '-c', AGENT];
  execFileSync(process.execPath, ['--import', hook, join(folder, 'out/cli/main.js'), ...command], {
    cwd,
    env,
    stdio: 'ignore',
  });
  return JSON.parse(readFileSync(calls, 'utf8'));
}

function print(called) {
  const visits = [];
  for (const path of called) {
    const [folderName, file] = path.includes('/') ? path.split('/') : ['.', path];
    if (visits.at(-1)?.[0] !== folderName) visits.push([folderName]);
    if (visits.at(-1).at(-1) !== file) visits.at(-1).push(file);
  }
  for (const [name, ...files] of visits) process.stdout.write(`${name}: ${files.join(' ')}\n`);
  const changes = visits.length - 1;
  const touched = [...new Set(called)];
  const below = touched.filter((path) => !isFront(path)).length;
  process.stdout.write(
    `${called.length} calls in ${touched.length} files, ${below} of them below the fronts, ${changes} folder changes\n`,
  );
}
