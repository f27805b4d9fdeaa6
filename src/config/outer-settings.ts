import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { SETTINGS_FILE } from './config.ts';

/** A note about settings at the root of the repository, for a workspace below it that has none; a loop does not read them. */
export function noteOnOuterSettings(workspace: string, hasOwn: boolean): readonly string[] {
  if (hasOwn) return [];
  const root = repositoryOf(workspace);
  if (root === null || root === workspace || !existsSync(join(root, SETTINGS_FILE))) return [];
  const path = relative(workspace, root);
  return [
    `not using ${join(path, SETTINGS_FILE)}: it is for loops that work in ${path}; use it with: --cwd ${path}`,
  ];
}

function repositoryOf(folder: string): string | null {
  if (existsSync(join(folder, '.git'))) return folder;
  return dirname(folder) === folder ? null : repositoryOf(dirname(folder));
}
