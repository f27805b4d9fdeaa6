import { stateFolder } from '../home/state-folder.ts';
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const SKIPPED = new Set(['.git', '.ralph', 'node_modules']);
const MAX_FILES = 200_000;

/** When a file below a folder last changed after a moment; null if none did. One walk, no watching. */
export function changedAfter(workspace: string, moment: number): number | null {
  let newest: number | null = null;
  let seen = 0;
  // It may be in the workspace, and Ralph writes to it all the time.
  const ownState = stateFolder();
  // A time in the future is not a change that was made.
  const now = Date.now();
  const folders = [workspace];
  for (let folder = folders.pop(); folder !== undefined && seen < MAX_FILES; folder = folders.pop()) {
    let entries;
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch {
      continue;
    }
    for (const entry of entries) {
      if (SKIPPED.has(entry.name)) continue;
      seen++;
      const path = join(folder, entry.name);
      if (path === ownState) continue;
      if (entry.isDirectory()) folders.push(path);
      const changed = changeTimeOf(path);
      if (changed > moment && changed <= now && changed > (newest ?? 0)) newest = Math.floor(changed);
    }
  }
  return newest;
}

function changeTimeOf(path: string): number {
  try {
    return lstatSync(path).mtimeMs;
  } catch {
    return 0;
  }
}
