/** What a person should know about the settings of a loop that is about to start. */
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { SETTINGS_FILE, type Settings } from './settings.ts';

/** Warnings about settings that the documents advise against. */
export function adviceOn({ maxIterations }: Settings): readonly string[] {
  if (maxIterations === undefined || maxIterations <= MANY) return [];
  return [
    `${maxIterations} iterations can cost a lot: 10 are enough for most tasks, ${MANY} for flaky ones; set --max-cost or --max-time as well`,
  ];
}

const MANY = 50;

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
