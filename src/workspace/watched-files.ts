/** Which files of the start the evidence rests on: what checks run, tests, what the user protects, and the prompt. */
import { checkFiles, packageScripts } from '../checks/check-files.ts';
import { isTestFile } from '../checks/test-files.ts';
import { GitError, prefixOf, utf8, type Repository } from '../git/git.ts';
import { listTree, readObjects, type RecordedFile } from '../git/recorded-files.ts';
import type { ChangedEvidence, StartRecord } from '../loop/event.ts';
import { globMatcher } from '../loop/glob.ts';
import type { Policy } from '../loop/policy.ts';
import { TimeSlice } from '../process/turns.ts';

export interface WatchedFile extends RecordedFile {
  /** Relative to the workspace. */
  readonly name: string;
  readonly as: ChangedEvidence['as'];
  /** For a package.json of which only scripts count: their text at the start, undefined for one that did not exist. */
  readonly scripts?: ReadonlyMap<string, unknown>;
}

export interface Watched {
  readonly files: readonly WatchedFile[];
  /** A hash of the list of all files of the tree. */
  readonly hash: string;
  /** The folder of the loop's files: empty for the top, else with a slash at its end. */
  readonly folder: string;
  /** Globs that match no file. */
  readonly idle: readonly string[];
}

/** Reads the tree. Throws if it is not the one that the journal knows. */
export async function watchedFiles(
  repository: Repository,
  start: StartRecord,
  { checks, evidence }: Policy,
): Promise<Watched> {
  const { files: listed, hash } = await listTree(repository, start.tree);
  if (start.files !== undefined && start.files !== hash)
    throw new GitError(`the tree of the loop's start was replaced: ${start.tree}`);
  const prefix = await prefixOf(repository);
  const files = movedTo(
    prefix,
    listed.map((file) => exactly(file, start)),
    start,
  );
  const byPath = new Map(files.map((file) => [file.path, file]));
  const found = new Map<string, WatchedFile>();
  const add = (file: RecordedFile, more: Pick<WatchedFile, 'as' | 'scripts'>): void => {
    const name = nameFrom(prefix, file.path);
    if (!found.has(file.path)) found.set(file.path, { ...file, name, ...more });
  };
  const below = files.filter(({ path }) => path.startsWith(prefix));
  const nameOf = ({ path }: RecordedFile): string => utf8(path.slice(prefix.length));
  const idle = new Set(evidence.protect);
  const matchers = evidence.protect.map((glob) => ({ glob, matches: globMatcher([glob]) }));
  const slice = new TimeSlice();
  for (const file of below) {
    for (const { glob, matches } of matchers) {
      if (!matches(nameOf(file))) continue;
      add(file, { as: 'protected' });
      idle.delete(glob);
    }
    // Many globs and many files take long, and this process may own other loops.
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await slice.pause();
  }
  const fileAt = (name: string): RecordedFile | undefined => byPath.get(pathOf(prefix, name));
  if (start.prompt !== undefined) addIfThere(fileAt(start.prompt), (file) => add(file, { as: 'prompt' }));
  if (checks.commands.length > 0) {
    const read = async (name: string): Promise<string | null> => {
      const file = fileAt(name);
      if (file === undefined) return null;
      return (await readObjects(repository, [file.object])).get(file.object)?.toString('utf8') ?? null;
    };
    const used = await checkFiles(
      // A plan is meant to be changed.
      checks.commands.filter(({ plan }) => plan !== true).map(({ command }) => command),
      { has: (name) => fileAt(name) !== undefined, read },
    );
    for (const name of used.files) addIfThere(fileAt(name), (file) => add(file, { as: 'check' }));
    for (const [name, names] of used.scripts) {
      // oxlint-disable-next-line no-await-in-loop -- nearly always one
      const known = packageScripts((await read(name)) ?? '') ?? {};
      const scripts = new Map([...names].map((script) => [script, known[script]]));
      addIfThere(fileAt(name), (file) => add(file, { as: 'check', scripts }));
    }
    for (const file of below) if (isTestFile(nameOf(file))) add(file, { as: 'test' });
  }
  return {
    files: [...found.values()].filter(({ mode }) => mode !== ABSENT),
    hash,
    folder: prefix,
    idle: [...idle],
  };
}

/** Marks a file of the tree that was not on disk at the start. */
export const ABSENT = '000000';

function addIfThere(file: RecordedFile | undefined, add: (file: RecordedFile) => void): void {
  if (file !== undefined) add(file);
}

/** The file as it was on disk at the start. */
function exactly(file: RecordedFile, { exact }: StartRecord): RecordedFile {
  const [mode, object] = (exact?.[file.path] ?? '').split(' ');
  return mode === undefined || object === undefined ? file : { ...file, mode, object };
}

/** The files, with those of the loop in the folder where they are now: `ralph move` follows one that was renamed. */
function movedTo(
  prefix: string,
  files: readonly RecordedFile[],
  { folder }: StartRecord,
): readonly RecordedFile[] {
  if (folder === undefined || folder === prefix) return files;
  return files.flatMap((file) => {
    if (file.path.startsWith(folder)) return [{ ...file, path: prefix + file.path.slice(folder.length) }];
    return file.path.startsWith(prefix) ? [] : [file];
  });
}

/** A path from the top, for a name relative to the workspace. */
function pathOf(prefix: string, name: string): string {
  const folders = prefix.split('/').slice(0, -1);
  const names = Buffer.from(name).toString('latin1').split('/');
  while (names[0] === '..') {
    if (folders.pop() === undefined) return '';
    names.shift();
  }
  return [...folders, ...names].join('/');
}

function nameFrom(prefix: string, path: string): string {
  if (path.startsWith(prefix)) return utf8(path.slice(prefix.length));
  const folders = prefix.split('/').slice(0, -1);
  const names = path.split('/');
  let common = 0;
  while (common < folders.length && folders[common] === names[common]) common++;
  return utf8([...folders.slice(common).map(() => '..'), ...names.slice(common)].join('/'));
}
