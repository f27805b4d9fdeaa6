/**
 * Records every function call of one `ralph run` (one iteration, one check) and prints the folders and files in the order
 * in which they act, with the number of files and of changes from one folder to another: `node scripts/trace-run.mjs`.
 * It compiles the sources, adds a call to every function, and runs a throwaway loop in a temporary folder.
 */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const AGENT = 'cat >/dev/null; echo made >file; echo "<promise>DONE</promise>"';

const folder = mkdtempSync(join(tmpdir(), 'ralph-trace-'));
try {
  const files = compile();
  print(run().map((number) => files[number]));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Compiles `src/` with a call in every function; the file of each function by its number. */
function compile() {
  const config = join(folder, 'tsconfig.json');
  const compilerOptions = { rootDir: join(ROOT, 'src'), outDir: join(folder, 'out'), noEmit: false };
  const include = [join(ROOT, 'src')];
  const exclude = [join(ROOT, 'src/**/*.test.ts')];
  const typeRoots = [join(ROOT, 'node_modules/@types')];
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { ...compilerOptions, typeRoots, paths: {} },
      include,
      exclude,
    }),
  );
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', config], { cwd: ROOT, stdio: 'inherit' });
  writeFileSync(join(folder, 'package.json'), readFileSync(join(ROOT, 'package.json')));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const out = join(folder, 'out');
  const files = [];
  for (const file of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.js')) instrument(join(out, file), file.replace(/\.js$/, '.ts'), files);
  }
  return files;
}

function instrument(path, file, files) {
  let text = readFileSync(path, 'utf8');
  const bodies = [];
  visit(parseAst(text), (node) => {
    if (/Function/.test(node.type) && node.body?.type === 'BlockStatement') bodies.push(node.body.start + 1);
  });
  for (const at of bodies.toSorted((a, b) => b - a)) {
    text = `${text.slice(0, at)}globalThis.traceCall(${files.length});${text.slice(at)}`;
    files.push(file);
  }
  writeFileSync(path, text);
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
  process.stdout.write(
    `${called.length} calls in ${new Set(called).size} files, ${changes} folder changes\n`,
  );
}
