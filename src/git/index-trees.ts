/**
 * The tree objects of a small index, made and written without git. A git for the tree would take longer than all other parts of
 * a checkpoint of few files.
 *
 * 1. Only of an index that `index-entries.ts` can read, and without entries that git leaves out of a tree or expands.
 * 2. Git wrote the first tree of an index. Later trees share most folders with it, and only those that are new are written,
 *    so that packed trees are not written again.
 */
import { readEntries, isUnusual, type Entry } from './index-entries.ts';
import type { Repository } from './git.ts';
import { gitObject, objectsFolder, writeLoose, type GitObject } from './loose-object.ts';
import { isPlain } from './plain-repository.ts';

export interface IndexTrees {
  /** The tree of the whole index. Indexes with equal entries have equal trees, whatever they remember about files on disk. */
  readonly id: string;
  /** The objects of all folders, by their ids. */
  readonly objects: ReadonlyMap<string, GitObject>;
}

/** Null if only git can tell the tree. */
export function treesOf(index: string): IndexTrees | null {
  const entries = readEntries(index);
  if (entries === null || entries.some(isUnusual)) return null;
  const objects = new Map<string, GitObject>();
  return { id: addFolder(entries, { from: 0, to: entries.length, depth: 0 }, objects), objects };
}

/** A run of entries in one folder, whose path has so many characters. */
interface Folder {
  readonly from: number;
  readonly to: number;
  readonly depth: number;
}

/** Adds the tree of a folder and of all folders below it. Entries are sorted as trees are: a folder as if its name ended with `/`. */
function addFolder(
  entries: readonly Entry[],
  { from, to, depth }: Folder,
  objects: Map<string, GitObject>,
): string {
  const rows: Buffer[] = [];
  for (let at = from; at < to;) {
    const { path, mode, object } = entries[at] ?? NO_ENTRY;
    const slash = path.indexOf('/', depth);
    if (slash < 0) {
      rows.push(row(mode, path.slice(depth), object));
      at++;
      continue;
    }
    const prefix = path.slice(0, slash + 1);
    let end = at + 1;
    while (end < to && entries[end]?.path.startsWith(prefix) === true) end++;
    const below = addFolder(entries, { from: at, to: end, depth: slash + 1 }, objects);
    rows.push(row(FOLDER_MODE, path.slice(depth, slash), below));
    at = end;
  }
  const tree = gitObject('tree', Buffer.concat(rows), 'sha1');
  objects.set(tree.id, tree);
  return tree.id;
}

const NO_ENTRY = { path: '', mode: '', object: '' };
const FOLDER_MODE = '40000';

function row(mode: string, name: string, object: string): Buffer {
  return Buffer.concat([Buffer.from(`${mode} ${name}\0`, 'latin1'), Buffer.from(object, 'hex')]);
}

/** Writes the trees that are not `known` to be in the repository; false if only git can do it. */
export async function writeTrees(
  repository: Repository,
  { objects }: IndexTrees,
  known: ReadonlySet<string>,
): Promise<boolean> {
  if (!(await isPlain(repository))) return false;
  const folder = await objectsFolder(repository);
  try {
    for (const tree of objects.values()) if (!known.has(tree.id)) writeLoose(folder, tree);
    return true;
  } catch {
    return false;
  }
}
