/**
 * A cache of the compiled code of the command, which would compile for longer than it runs: people wait for every command, and
 * sessions for their hooks after every turn.
 *
 * 1. Only files in the command's own folder are cached, each for its inode, size and times, this Node.js and this processor. All
 *    files in a package of npm have the same time, so that alone says nothing.
 * 2. A cache can contain any code. It is in the state folder, which a sandboxed agent does not see, in a folder that belongs to
 *    this user and that only they can write; otherwise there is no cache. Nor is there one in a sandbox, or if the state folder is
 *    in the repository that the command is called in, which may contain anything.
 * 3. A cache contains its code twice, and is used only if both are the same: V8 does not look, and a damaged cache would end this
 *    process. A comparison takes less time than loading zlib for a checksum. The code is synced before it is found, so that
 *    after a crash of the machine it is not empty in both places.
 * 4. It is written when the work is done, as a whole or not at all, and by the first few calls only: each adds what it compiled. The
 *    call that makes the state folder writes none.
 * 5. A file that imports modules is not cached, because that would need an experimental feature.
 * 6. Whatever goes wrong with a cache, the command works without it.
 *
 * It imports nothing of Ralph, because every other file is loaded through it.
 */
import { isAscii } from 'node:buffer';
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
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';

/** Loads the files of a folder through the cache from now on. Calls for different uses, which run other code, have caches of their own. */
export function useCodeCache(own: string, use = '', env: NodeJS.ProcessEnv = process.env): void {
  const folder = placeOf(env);
  if (folder === null || !existsSync(dirname(folder))) return;
  // Not from node:module, which takes a millisecond to load.
  const { extensions } = require;
  const compile = extensions['.js'];
  extensions['.js'] = (module, file) => {
    const code = dirname(file) === own ? cachedCode(file, folder, use) : null;
    if (code === null) compile(module, file);
    else code.call(module.exports, module.exports, module.require.bind(module), module, file, own);
  };
}

/** The bundles of the command are CommonJS. */
declare const require: NodeJS.Require;

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
function cachedCode(file: string, folder: string, use: string): Code | null {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    if (size < MIN_SIZE) return null;
    const { Script } = process.getBuiltinModule('node:vm');
    const source = wrapped(file, size);
    if (source === null) return null;
    const key = `${file} ${ino} ${size} ${mtimeMs} ${ctimeMs} ${process.version} ${process.arch} ${use}`;
    const path = join(folder, `${basename(file)}-${shortHash(key)}`);
    const cached = isPrivate(folder) ? readCache(path, key) : null;
    // A file that has a cache was searched before.
    if (cached === null && /\bimport\(/.test(source)) return null;
    const script = new Script(source, { filename: file, cachedData: cached?.code });
    const writers = script.cachedDataRejected === true ? 0 : (cached?.writers ?? 0);
    if (writers < MAX_WRITERS)
      atExit(() => writeCache(path, key, writers + 1, () => script.createCachedData()));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value of the text above
    return script.runInThisContext() as Code;
  } catch {
    return null;
  }
}

/**
 * A file as the text of a function; null if it has characters that are not ASCII. It is one text from the start: joining it with the
 * head of the function would copy it, and each copy is as long as what V8 allocates until it collects garbage.
 */
function wrapped(file: string, size: number): string | null {
  const text = Buffer.allocUnsafe(HEAD.length + size + TAIL.length);
  text.write(HEAD, 'latin1');
  const descriptor = openSync(file, 'r');
  try {
    if (readSync(descriptor, text, HEAD.length, size, 0) !== size) return null;
  } finally {
    closeSync(descriptor);
  }
  text.write(TAIL, HEAD.length + size, 'latin1');
  return isAscii(text) ? text.toString('latin1') : null;
}

const HEAD = '(function (exports, require, module, __filename, __dirname) { ';
const TAIL = '\n});';

/** A file that is compiled faster than a cache is read. */
const MIN_SIZE = 2000;

interface Cached {
  /** How many calls have written it. */
  readonly writers: number;
  readonly code: Buffer;
}

/** The first call seldom runs what later ones need. */
const MAX_WRITERS = 4;

/** A cache: a line with the number of its writers, the size of the code and its key, then the code, twice. */
function readCache(path: string, key: string): Cached | null {
  const content = contentOf(path);
  const end = content?.indexOf('\n') ?? -1;
  if (content === null || end < 0) return null;
  const head = content.toString('utf8', 0, end);
  const size = (content.length - end - 1) / 2;
  if (head.slice(1) !== headOf(size, key) || !Number.isInteger(size)) return null;
  const code = content.subarray(end + 1, end + 1 + size);
  return code.equals(content.subarray(end + 1 + size)) ? { writers: Number(head[0]), code } : null;
}

/** The first line without the number of writers, which is a digit. */
function headOf(size: number, key: string): string {
  return ` ${size} ${key}`;
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
    const head = Buffer.from(`${writers}${headOf(code.length, key)}\n`);
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(descriptor, Buffer.concat([head, code, code]));
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

/** Only for the name of a file, whose first line has the whole key: FNV-1a. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

const tasks: (() => void)[] = [];

/** One listener for all: Node.js warns of many. */
function atExit(task: () => void): void {
  if (tasks.push(task) === 1)
    process.once('exit', () => {
      for (const each of tasks) each();
    });
}
