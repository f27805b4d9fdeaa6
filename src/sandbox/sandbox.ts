/**
 * What a program in a sandbox sees of the machine, as a list of places in the order in which they apply; a place covers
 * what an earlier one has put there. `bubblewrap.ts` and `seatbelt.ts` turn it into options.
 *
 * 1. Everything is read-only unless a place says otherwise.
 * 2. The deepest path decides. Where several places have the same path, the order is: hidden by the user, writable by the
 *    user, read-only, writable, private, hidden.
 * 3. A folder with something read-only in it becomes a place of its own: it cannot be renamed and made anew without it.
 */
import { isIn } from '../files/files.ts';
import { dirname } from 'node:path';

/** Turns a description into places. All paths are real paths that exist. */
export function placesOf(view: View): readonly Place[] {
  const places = new Map<string, Place>();
  // From the weakest to the strongest.
  const layers: readonly (readonly [Place['is'], readonly string[]])[] = [
    ['read-only', view.visible],
    ['hidden', view.hide],
    ['private', view.temporary],
    ['writable', view.write],
    ['read-only', view.keep],
    ['writable', view.given.write],
    ['hidden', view.given.hide],
  ];
  for (const [is, paths] of layers) for (const path of paths) places.set(path, { path, is });
  for (const path of view.keep) {
    for (const folder of between(path, [...view.write, ...view.given.write]))
      if (!places.has(folder)) places.set(folder, { path: folder, is: 'writable' });
  }
  return [...places.values()].toSorted((a, b) => depth(a.path) - depth(b.path) || compare(a.path, b.path));
}

export interface Place {
  readonly path: string;
  readonly is: 'read-only' | 'writable' | 'private' | 'hidden';
}

export interface View {
  /** The workspace, its git folders, the agent's own files. */
  readonly write: readonly string[];
  /** What stays read-only in them, because it is executed outside of the sandbox later. */
  readonly keep: readonly string[];
  /** Empty folders for temporary files. */
  readonly temporary: readonly string[];
  /** Secrets, sockets and Ralph's state. */
  readonly hide: readonly string[];
  /** What stays visible in temporary and hidden folders. */
  readonly visible: readonly string[];
  /** What the user has added. */
  readonly given: { readonly write: readonly string[]; readonly hide: readonly string[] };
}

/** Whether a program can see the path. */
export function sees(places: readonly Place[], path: string): boolean {
  const place = places.findLast((one) => isIn(path, one.path));
  return place === undefined || place.is === 'read-only' || place.is === 'writable';
}

/** The folders between the path and the innermost of the roots that contains it. */
function between(path: string, roots: readonly string[]): readonly string[] {
  const root = roots
    .filter((one) => one !== path && isIn(path, one))
    .toSorted((a, b) => b.length - a.length)
    .at(0);
  const folders: string[] = [];
  if (root === undefined) return folders;
  for (let folder = dirname(path); folder !== root; folder = dirname(folder)) folders.push(folder);
  return folders;
}

function depth(path: string): number {
  return path === '/' ? 0 : path.split('/').length;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
