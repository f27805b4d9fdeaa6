/**
 * What is on record of a loop: how everything was at its start, after each of its iterations (a checkpoint, by its
 * number), and before it was rewound (`rewind-1`). Each stands on the one before it, so that the log of the last one tells
 * the whole story.
 */
import { ask, failed, resolve, type Repository } from './git.ts';
import { CAREFULLY, recordName, recordTree, withTree } from './tree.ts';

/** Puts the tree of an iteration on record, and tells under which name; done again, it is the same name. */
export function takeCheckpoint(
  repository: Repository,
  { id, name }: Recorded,
  iteration: number,
  scratch: string,
): Promise<Checkpoint> {
  return withTree(repository, scratch, async (tree, unread) => {
    const ref = recordName(id, String(iteration));
    await recordTree(repository, {
      ref,
      tree,
      message: `ralph: ${name}, iteration ${iteration}`,
      trailers: [`Ralph-Loop: ${name}`, `Ralph-Iteration: ${iteration}`],
      on: await recordBefore(repository, id, iteration),
    });
    return { ref, unread };
  });
}

interface Checkpoint {
  readonly ref: string;
  /** The files and folders that may not be read: as they are now, they are not on record. */
  readonly unread: readonly string[];
}

/** The loop that something is recorded of. */
export interface Recorded {
  readonly id: string;
  readonly name: string;
}

/** The commit of the checkpoint before this one, or of the start; null where nothing is on record. */
async function recordBefore(repository: Repository, loop: string, iteration: number): Promise<string | null> {
  // Nearly always it is this one, and then there is no need to look at all of them.
  const last = await resolve(repository, recordName(loop, iteration === 1 ? 'start' : String(iteration - 1)));
  if (last !== null || iteration === 1) return last;
  const records = await listRecords(repository, loop);
  const before = nameBefore([...records.keys()], iteration);
  return before === null ? null : (records.get(before) ?? null);
}

/** The name of the record that an iteration began with; null where there is none. */
export function nameBefore(names: readonly string[], iteration: number): string | null {
  const numbers = names.filter(isNumber).map(Number);
  const earlier = numbers.filter((number) => number < iteration);
  if (earlier.length > 0) return String(Math.max(...earlier));
  return names.includes('start') ? 'start' : null;
}

/** What is on record of a loop, in its order: the name of each and its commit. */
export async function listRecords(
  repository: Repository,
  loop: string,
): Promise<ReadonlyMap<string, string>> {
  const prefix = recordName(loop, '');
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', prefix];
  const answer = await ask(repository, args);
  if (answer.code !== 0) throw failed(args, answer);
  const found = answer.stdout
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const [commit = '', ref = ''] = line.split(' ');
      return [ref.slice(prefix.length), commit];
    });
  return new Map(found.toSorted(([a], [b]) => rank(a) - rank(b)));
}

/** The start, then the checkpoints, then what was there before a rewind. */
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

/** The name for what is there before the next rewind. */
export function nextRewind(names: readonly string[]): string {
  return `rewind-${Math.max(0, ...names.map(rewindNumber)) + 1}`;
}

/** The record that the loop's last iteration has left. */
export function lastOf(names: readonly string[]): string | null {
  return nameBefore(names, Infinity);
}

/** Removes all records of a loop; one that cannot be removed is in nobody's way. */
export async function removeRecords(repository: Repository, loop: string): Promise<void> {
  await remove(repository, loop, [...(await listRecords(repository, loop)).keys()]);
}

/** Of a loop that nobody can ask for any more: whatever stands under another record has no need of a name. */
export async function thinRecords(repository: Repository, loop: string): Promise<void> {
  const names = [...(await listRecords(repository, loop)).keys()];
  const last = lastOf(names);
  await remove(
    repository,
    loop,
    names.filter((name) => name !== last && rewindNumber(name) === 0),
  );
}

async function remove(repository: Repository, loop: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const input = names.map((name) => `delete ${recordName(loop, name)}\n`).join('');
  await ask(repository, [...CAREFULLY, 'update-ref', '--stdin'], {}, { input });
}
