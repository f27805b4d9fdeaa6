/**
 * A cache of the compiled code of the hooks that host programs call after every turn: it compiles for longer than it runs.
 *
 * 1. Only files in the command's own folder are cached, each for its size and time, this Node.js and this processor.
 * 2. A cache can contain any code. It is in the state folder, which a sandboxed agent does not see, in a folder that belongs to
 *    this user and that only they can write; otherwise there is no cache. Nor is there one in a sandbox, or if the state folder is
 *    in the repository that the hook is called in, which may contain anything.
 * 3. A cache contains its code twice, and is used only if both are the same: V8 does not look, and a damaged cache would end this
 *    process. Loading the module that computes checksums takes longer. The code is synced before it is
 *    found, so that after a crash of the machine it is not empty in both places.
 * 4. It is written when the work is done, as a whole or not at all, and by the first few calls only: each adds what it compiled.
 * 5. A file that imports modules is not cached, because that would need an experimental feature.
 * 6. Whatever goes wrong with a cache, the command works without it.
 *
 * It imports nothing of Ralph, because every other file is loaded through it.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, isAbsolute, join } from 'node:path';

/** Loads the files of a folder through the cache from now on. */
export function useCodeCache(own: string, env: NodeJS.ProcessEnv = process.env): void {
  const folder = placeOf(env);
  if (folder === null) return;
  const { extensions } = createRequire(join(own, 'main.js'));
  const compile = extensions['.js'];
  extensions['.js'] = (module, file) => {
    const code = dirname(file) === own ? cachedCode(file, folder) : null;
    if (code === null) compile(module, file);
    else code.call(module.exports, module.exports, module.require.bind(module), module, file, own);
  };
}

/** Where the caches are; null if there are none. The same place as the state of loops has, unless `RALPH_STATE` moves that. */
function placeOf(env: NodeJS.ProcessEnv): string | null {
  if ((env[OFF] ?? '') !== '' || (env['RALPH_SANDBOX'] ?? '') !== '' || (env['RALPH_STATE'] ?? '') !== '')
    return null;
  const { XDG_STATE_HOME: state, HOME: home } = env;
  const base =
    state !== undefined && isAbsolute(state)
      ? state
      : home === undefined
        ? ''
        : join(home, '.local', 'state');
  return isAbsolute(base) && !base.startsWith(`${repositoryOf(process.cwd())}/`)
    ? join(base, 'ralph', 'code')
    : null;
}

/** The repository that contains a folder, or else the folder itself. */
function repositoryOf(folder: string): string {
  for (let above = folder; above !== dirname(above); above = dirname(above))
    if (existsSync(join(above, '.git'))) return above;
  return folder;
}

/** Switches the cache off if it is not empty. */
const OFF = 'RALPH_NO_COMPILE_CACHE';

type Code = (this: unknown, ...values: readonly unknown[]) => void;

/** A file as the function that Node.js makes of it, compiled already if it is in the cache; null if it cannot be cached. */
function cachedCode(file: string, folder: string): Code | null {
  try {
    const { Script } = process.getBuiltinModule('node:vm');
    const source = readFileSync(file, 'utf8');
    const { size, mtimeMs } = statSync(file);
    const key = `${file} ${size} ${mtimeMs} ${process.version} ${process.arch}`;
    const path = join(folder, `${basename(file)}-${shortNameOf(key)}`);
    const cached = isPrivate(folder) ? readCache(path, key) : null;
    // A file that has a cache was searched before.
    if (cached === null && /\bimport\(/.test(source)) return null;
    const script = new Script(process.getBuiltinModule('node:module').wrap(source), {
      filename: file,
      cachedData: cached?.code,
    });
    const writers = script.cachedDataRejected === true ? 0 : (cached?.writers ?? 0);
    if (writers < MAX_WRITERS)
      atExit(() => writeCache(path, key, writers + 1, () => script.createCachedData()));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value of the text that `wrap` makes
    return script.runInThisContext() as Code;
  } catch {
    return null;
  }
}

interface Cached {
  /** How many calls have written it. */
  readonly writers: number;
  readonly code: Buffer;
}

/** The first call seldom runs what later ones need. */
const MAX_WRITERS = 4;

/** A cache: a line with the number of its writers and its key, then the code, and the code again. */
function readCache(path: string, key: string): Cached | null {
  const content = contentOf(path);
  const end = content?.indexOf('\n') ?? -1;
  if (content === null || end < 0) return null;
  const [, writers = '', found] = /^(\d) (.*)$/.exec(content.toString('utf8', 0, end)) ?? [];
  const middle = (end + 1 + content.length) / 2;
  const code = content.subarray(end + 1, middle);
  if (found !== key || !code.equals(content.subarray(middle))) return null;
  return { writers: Number(writers), code };
}

function contentOf(path: string): Buffer | null {
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return fstatSync(descriptor).isFile() ? readFileSync(descriptor) : null;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null;
  }
}

function writeCache(path: string, key: string, writers: number, codeOf: () => Buffer): void {
  const folder = dirname(path);
  const temporary = `${path}.${process.pid}`;
  try {
    // Not its parents: without a state folder nothing is written.
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    if (!isPrivate(folder)) return;
    if (writers === 1) removeOld(folder);
    const code = codeOf();
    const content = Buffer.concat([Buffer.from(`${writers} ${key}\n`), code, code]);
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
  } catch {
    rmSync(temporary, { force: true });
  }
}

/** Caches of files and versions that are gone; those in use are made again. */
function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (lstatSync(path).mtimeMs < Date.now() - MAX_AGE_MS) rmSync(path, { force: true });
  }
}

const MAX_AGE_MS = 30 * 24 * 3600 * 1000;

/** Whether the folder belongs to this user, and others cannot write in it. */
function isPrivate(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}

/** Two keys may have the same name: the cache says which one it is for. */
function shortNameOf(key: string): string {
  let sum = 0;
  for (let at = 0; at < key.length; at++) sum = (Math.imul(sum, 31) + key.charCodeAt(at)) | 0;
  return (sum >>> 0).toString(16).padStart(8, '0');
}

const tasks: (() => void)[] = [];

/** One listener for all: Node.js warns of many. */
function atExit(task: () => void): void {
  if (tasks.push(task) === 1)
    process.once('exit', () => {
      for (const each of tasks) each();
    });
}
