/**
 * The records of a loop: `start`, one per iteration (a checkpoint, named by its number), and one before each rewind
 * (`rewind-1`). Each is a commit on top of the one before it; that of an iteration whose whole tree was committed is that commit.
 */
import { execGit, gitOutput, type Repository } from './git.ts';
import { recordName, recordTree } from './refs.ts';
import { seeTree } from './seen-tree.ts';
import type { SeenTree } from './tree.ts';

/**
 * Records the tree of an iteration; taken again, it replaces the record of the same name. `what` is the tree as it was just
 * seen, or a scratch file for a new look.
 */
export async function takeCheckpoint(
  repository: Repository,
  { id, name }: Recorded,
  iteration: number,
  what: string | SeenTree,
): Promise<Checkpoint> {
  const found = typeof what === 'string' ? await seeTree(repository, what) : what;
  const { tree, head, large } = found;
  const ref = recordName(id, String(iteration));
  const recordOn = (on: string | null): Promise<void> =>
    recordTree(repository, {
      ref,
      tree,
      message: `ralph: ${name}, iteration ${iteration}`,
      trailers: [`Ralph-Loop: ${name}`, `Ralph-Iteration: ${iteration}`, ...leftOutTrailers(large)],
      on,
      // Its message cannot name what is left out.
      mayBeHead: head === tree && large.length === 0,
    });
  // Usually the iteration before has a record, which saves listing all of them.
  let on: string | null = recordName(id, iteration === 1 ? 'start' : String(iteration - 1));
  await recordOn(on).catch(async () => {
    on = await recordBefore(repository, id, iteration);
    await recordOn(on);
  });
  const known = large.length === 0 || iteration === 1 ? [] : await leftOutOf(repository, on);
  return { ...found, ref, fresh: large.filter((path) => !known.includes(path)) };
}

/** The tree that is recorded, and what it lacks. */
interface Checkpoint extends SeenTree {
  readonly ref: string;
  /** The files that are too large, but for those that the checkpoint before left out too. */
  readonly fresh: readonly string[];
}

/** The lines that name the files which a record lacks because they were too large: a rewind to it must not touch them. */
export function leftOutTrailers(paths: readonly string[]): readonly string[] {
  return paths.map((path) => `${LEFT_OUT}: ${asciiJson(path)}`);
}

/** In ASCII, whatever the encoding of commit messages is. */
function asciiJson(path: string): string {
  return JSON.stringify(path).replaceAll(
    /[\u007f-\u00ff]/g,
    (one) => `\\u00${one.codePointAt(0)?.toString(16)}`,
  );
}

/** The files that a record lacks because they were too large, in Latin-1. */
export async function leftOutOf(repository: Repository, record: string | null): Promise<readonly string[]> {
  if (record === null) return [];
  const format = `--format=%(trailers:key=${LEFT_OUT},valueonly)`;
  const listed = await gitOutput(repository, ['log', '-1', format, record]);
  return listed.split('\n').flatMap((line) => {
    try {
      const path: unknown = JSON.parse(line);
      return typeof path === 'string' ? [path] : [];
    } catch {
      return [];
    }
  });
}

const LEFT_OUT = 'Ralph-Left-Out';

/** The loop that a record belongs to. */
export interface Recorded {
  readonly id: string;
  readonly name: string;
}

/** The commit of the last record before an iteration; null if there is none. */
async function recordBefore(repository: Repository, loop: string, iteration: number): Promise<string | null> {
  const records = await listRecords(repository, loop);
  const before = nameBefore([...records.keys()], iteration);
  return before === null ? null : (records.get(before) ?? null);
}

/** The name of the record that an iteration started from; null if there is none. */
export function nameBefore(names: readonly string[], iteration: number): string | null {
  const numbers = names.filter(isNumber).map(Number);
  const earlier = numbers.filter((number) => number < iteration);
  if (earlier.length > 0) return String(Math.max(...earlier));
  return names.includes('start') ? 'start' : null;
}

/** The records of a loop in their order: names and commits. `which` are options of `git for-each-ref`. */
export async function listRecords(
  repository: Repository,
  loop: string,
  which: readonly string[] = [],
): Promise<ReadonlyMap<string, string>> {
  const prefix = recordName(loop, '');
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', ...which, prefix];
  const found = (await gitOutput(repository, args))
    .split('\n')
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const [commit = '', ref = ''] = line.split(' ');
      return [ref.slice(prefix.length), commit];
    });
  return inOrder(found);
}

/** The start comes first, then the checkpoints, then the records before rewinds. */
export function inOrder(records: Iterable<readonly [string, string]>): ReadonlyMap<string, string> {
  return new Map([...records].toSorted(([a], [b]) => rank(a) - rank(b)));
}

function rank(name: string): number {
  if (name === 'start') return -1;
  return isNumber(name) ? Number(name) : Number.MAX_SAFE_INTEGER / 2 + rewindNumber(name);
}

function isNumber(name: string): boolean {
  return /^\d+$/.test(name);
}

function rewindNumber(name: string): number {
  return Number(/^rewind-(\d+)$/.exec(name)?.[1] ?? 0);
}

/** The name of the record before the next rewind. */
export function nextRewind(names: readonly string[]): string {
  return `rewind-${Math.max(0, ...names.map(rewindNumber)) + 1}`;
}

/** The record of the loop's last iteration. */
export function lastOf(names: readonly string[]): string | null {
  return nameBefore(names, Infinity);
}

/** Removes all records of a loop. Ignores failures, because a record that stays does no harm. */
export async function removeRecords(repository: Repository, loop: string): Promise<void> {
  await remove(repository, loop, [...(await listRecords(repository, loop)).keys()]);
}

/**
 * How many bytes `git gc` will free without the records of a loop: those of objects that no other ref, no reflog and no index
 * needs. 0 if git cannot say.
 */
export async function sizeOfRecords(repository: Repository, loop: string): Promise<number> {
  const prefix = recordName(loop, '');
  const others = [`--exclude=${prefix}*`, '--all', '--reflog', '--indexed-objects'];
  const args = ['rev-list', '--objects', '--disk-usage', `--glob=${prefix}*`, '--not', ...others];
  const { code, stdout } = await execGit(repository, args, {}, { timeoutMs: MAX_COUNTING_MS });
  return code === 0 ? Number(stdout.toString('latin1')) : 0;
}

const MAX_COUNTING_MS = 20_000;

/** For an archived loop: removes the names of records that are ancestors of the last one, and keeps those before rewinds. */
export async function thinRecords(repository: Repository, loop: string): Promise<void> {
  const last = lastOf([...(await listRecords(repository, loop)).keys()]);
  if (last === null) return;
  const below = [...(await listRecords(repository, loop, [`--merged=${recordName(loop, last)}`])).keys()];
  await remove(
    repository,
    loop,
    below.filter((name) => name !== last && rewindNumber(name) === 0),
  );
}

async function remove(repository: Repository, loop: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const input = names.map((name) => `delete ${recordName(loop, name)}\n`).join('');
  await execGit(repository, ['update-ref', '--stdin'], {}, { input });
}
