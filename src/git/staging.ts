/**
 * What is staged in the user's own index for a commit of the loop's, and how it gets out of it again.
 *
 * 1. A file is touched again only while it is as we have left it: whatever the user has staged since is theirs.
 * 2. What is committed by then stays: to take it out would be to stage its reversal.
 * 3. Before anything is staged there is a note of what was there. It goes only when everything is in order again.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { RAW, readDifferences, type Difference } from './differences.ts';
import { foldersOf } from './folders.ts';
import { ask, failed, resolve, tell, type Repository } from './git.ts';
import { CAREFULLY, emptyTree } from './tree.ts';

/** Stages changes; `note` is a file that outlives us. */
export async function stage(
  repository: Repository,
  changes: readonly Difference[],
  note: string,
): Promise<void> {
  // What an earlier attempt has staged is taken back as it was before that.
  if (!existsSync(note)) {
    const staged = await replacedBy(repository, changes);
    writeFileSync(note, JSON.stringify(staged));
  }
  await enter(repository, changes.map(entryOf));
}

/** One file of ours in the index. */
interface Staged {
  readonly path: string;
  /** `<mode> <object>`, which are all zeros for nothing. */
  readonly entry: string;
  /** What was there before, under this name or in its way, as lines for `update-index`. */
  readonly before: readonly string[];
}

/** Nothing was committed: the index is again as it was, as far as nobody has touched it since. */
export async function unstage(repository: Repository, note: string): Promise<void> {
  if (!existsSync(note)) return;
  const now = { ...repository, interrupt: NEVER };
  const base = (await resolve(now, 'HEAD^{commit}')) ?? (await emptyTree(now));
  const differing = await differingFrom(now, base);
  const ours = readNote(note).filter(({ path, entry }) => differing.get(path) === entry);
  await enter(now, restoring(ours));
  rmSync(note, { force: true });
}

/**
 * The commit is there. A hook may have changed, added or left out files on its own: where the index has what it had before
 * or what was staged for it, it gets what was committed.
 */
export async function follow(repository: Repository, note: string, commit: string): Promise<void> {
  const now = { ...repository, interrupt: NEVER };
  const listed = await tell(now, ['diff-tree', '-r', ...RAW, '--root', '--no-commit-id', commit]);
  const committed = readDifferences(listed);
  const differing = await differingFrom(now, commit);
  const staged = readNote(note);
  const ours = new Map(staged.map((one) => [one.path, one.entry] as const));
  const isLeft = (one: Difference): boolean =>
    differing.get(one.path) === (ours.get(one.path) ?? `${one.modes[0]} ${one.object}`);
  const inCommit = new Set(committed.map(({ path }) => path));
  const leftOut = staged.filter(({ path, entry }) => !inCommit.has(path) && differing.get(path) === entry);
  await enter(now, [...restoring(leftOut), ...committed.filter(isLeft).map(entryOf)]);
  rmSync(note, { force: true });
}

/** Puts entries into an index: the user's, or another one. */
export async function enter(
  repository: Repository,
  entries: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  if (entries.length === 0) return;
  const args = [...CAREFULLY, 'update-index', '-z', '--index-info'];
  const input = Buffer.from(entries.join(''), 'latin1');
  for (let tries = 0; ; tries++) {
    // oxlint-disable-next-line no-await-in-loop -- again only while somebody else holds the index
    const answer = await ask(repository, args, more, { input });
    if (answer.code === 0) return;
    if (tries === MOST_TRIES || !answer.stderr.includes('.lock')) throw failed(args, answer);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(WAIT_MS);
  }
}

/** A `git add` of the user's takes no longer. */
const MOST_TRIES = 20;
const WAIT_MS = 100;
const NEVER = new AbortController().signal;

/** A change in the form that `update-index` reads; of one that is gone both are zeros, which removes it. */
export function entryOf({ path, modes, becomes }: Difference): string {
  return `${modes[1]} ${becomes}\t${path}\0`;
}

async function replacedBy(
  repository: Repository,
  changes: readonly Difference[],
): Promise<readonly Staged[]> {
  const listed = await tell(repository, ['ls-files', '--cached', '--stage', '--full-name', '-z', ':(top)']);
  const concerned = new Map(changes.map(({ path }): [string, string[]] => [path, []]));
  const owners = foldersTo(changes.map(({ path }) => path));
  for (const line of listed.split('\0').slice(0, -1)) {
    const path = line.slice(line.indexOf('\t') + 1);
    // Under its name; a file where it needs a folder; or in the folder that it takes the place of.
    const owner = [path, ...foldersOf([path])].find((one) => concerned.has(one)) ?? owners.get(path) ?? null;
    // `<mode> <object> <stage>`, of which the last is read only where there are conflicts.
    if (owner !== null) concerned.get(owner)?.push(`${line.replace(/ \d\t/, '\t')}\0`);
  }
  return changes.map(({ path, modes, becomes }) => ({
    path,
    entry: `${modes[1]} ${becomes}`,
    before: concerned.get(path) ?? [],
  }));
}

/** One of the files in each of their folders. */
function foldersTo(paths: readonly string[]): ReadonlyMap<string, string> {
  return new Map(paths.flatMap((path) => [...foldersOf([path])].map((folder) => [folder, path] as const)));
}

/** What makes an index again what it was: first everything goes, then what was there comes back. */
function restoring(staged: readonly Staged[]): readonly string[] {
  const removals = staged.map(
    ({ path, entry }) => `0 ${entry.split(' ')[1]?.replaceAll(/./g, '0')}\t${path}\0`,
  );
  return [...removals, ...staged.flatMap(({ before }) => before)];
}

/** The entries of the user's index that are not as in a tree. */
async function differingFrom(repository: Repository, tree: string): Promise<ReadonlyMap<string, string>> {
  const listed = await tell(repository, ['diff-index', '--cached', ...RAW, '--ignore-submodules=none', tree]);
  const found = readDifferences(listed);
  return new Map(found.map(({ path, modes, becomes }) => [path, `${modes[1]} ${becomes}`] as const));
}

function readNote(note: string): readonly Staged[] {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `stage`
    return JSON.parse(readFileSync(note, 'utf8')) as readonly Staged[];
  } catch {
    // Nothing was staged: it was being written.
    return [];
  }
}
