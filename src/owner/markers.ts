/** Marker files such as `DONE`, in the loop's folder or where the policy puts them. */
import { existsSync, renameSync, statSync } from 'node:fs';
import type { Policy } from '../loop/policy.ts';
import type { LoopFolder } from '../store/store.ts';

/** Looks for a marker. Its content does not matter; a folder with its name or an unreadable path is a problem. */
export function findMarker(
  path: string,
  name: string,
): { readonly isThere: boolean; readonly problem: string | null } {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return { isThere: false, problem: null };
    return found.isDirectory()
      ? { isThere: false, problem: `${name} is a directory` }
      : { isThere: true, problem: null };
  } catch (error) {
    return {
      isThere: false,
      problem: `stat ${name}: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

/** Renames rejected markers, so that a person can still read them. */
export function moveAside(folder: LoopFolder, markers: readonly string[]): void {
  for (const name of markers) {
    const path = folder.marker(name);
    if (!existsSync(path)) continue;
    let number = 1;
    while (existsSync(`${path}.rejected-${number}`)) number++;
    renameSync(path, `${path}.rejected-${number}`);
  }
}

/** Moves markers aside that existed before the loop began, if the policy says so. */
export function moveStaleMarkers(folder: LoopFolder, { completion }: Policy): void {
  if (completion.staleMarkers !== 'move-aside') return;
  moveAside(
    folder,
    completion.detectors.flatMap((detector) => (detector.kind === 'marker' ? [detector.file] : [])),
  );
}
