/**
 * Aliases: symbolic links under the names that documents give to a loop's files, in `.ralph/` for document 001 and in
 * `.architect/` for document 002. People and prompts use them. Ralph itself never reads through an alias, because another
 * loop may have taken its name.
 */
import { existsSync, readdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { below } from '../files/below.ts';
import { createFile } from '../files/replace-file.ts';
import { inRalphFolder } from './workspace-folder.ts';
import { findFolder, liveOwner } from '../home/read-loop.ts';
import type { WorkspaceFolder } from '../home/home.ts';

/** Links `.ralph/<alias>` to a file in the workspace folder of a loop. Returns false if a file or a running loop has the name. */
export function linkAlias(workspace: string, alias: string, target: string): boolean {
  return linkIn('.ralph', workspace, alias, target);
}

/** Links `.architect/ralph-progress.md`, document 002's name, to the progress file of a loop; git ignores the link. */
export function linkProgress({ workspace, progressFile }: WorkspaceFolder): void {
  if (!linkIn(ARCHITECT, workspace, PROGRESS, progressFile)) return;
  below(workspace, [ARCHITECT], { make: true }, (folder) => {
    // A file that the user wrote stays.
    createFile(join(folder, '.gitignore'), `/.gitignore\n/${PROGRESS}\n`);
  });
}

const ARCHITECT = '.architect';
const PROGRESS = 'ralph-progress.md';

/** Removes the alias of a progress file if it still links to it. */
export function unlinkProgress({ workspace, progressFile }: WorkspaceFolder): void {
  if (!existsSync(join(workspace, ARCHITECT))) return;
  below(workspace, [ARCHITECT], { make: false }, (folder) => {
    const link = join(folder, PROGRESS);
    if (targetOf(link) === linkText(ARCHITECT, workspace, progressFile)) unlinkSync(link);
  });
}

function linkIn(place: string, workspace: string, alias: string, target: string): boolean {
  const linked = linkText(place, workspace, target);
  try {
    return below(workspace, [place], { make: true }, (folder) => {
      const link = join(folder, alias);
      const taken = targetOf(link);
      if (taken === linked) return true;
      if (taken !== null && isUsed(workspace, taken, linked)) return false;
      if (taken !== null) unlinkSync(link);
      symlinkSync(linked, link);
      return true;
    });
  } catch {
    // A file of the user has the name.
    return false;
  }
}

/** Whether an alias belongs to another loop that is running. */
function isUsed(workspace: string, taken: string, linked: string): boolean {
  const [own = '', name = ''] = /^.*?\bloops\/([^/]+)\//.exec(taken) ?? [];
  if (own === '' || linked.startsWith(own)) return false;
  const folder = findFolder(workspace, name);
  return folder !== null && liveOwner(folder) !== null;
}

/** Removes an alias if it still links to the file. */
export function unlinkAlias(workspace: string, alias: string, target: string): void {
  inRalphFolder(workspace, (folder) => {
    const link = join(folder, alias);
    if (targetOf(link) === linkText('.ralph', workspace, target)) unlinkSync(link);
  });
}

/** Removes all aliases of a loop. */
export function unlinkAliases(workspace: string, loop: string): void {
  inRalphFolder(workspace, (folder) => {
    for (const name of readdirSync(folder)) {
      if (targetOf(join(folder, name))?.startsWith(`loops/${loop}/`) === true) unlinkSync(join(folder, name));
    }
  });
}

/** The path of a file for a prompt, relative to the workspace: its alias if that links to it, else its own path. */
export function aliasOrPath(workspace: string, alias: string, target: string): string {
  const link = join(workspace, '.ralph', alias);
  return relative(workspace, targetOf(link) === linkText('.ralph', workspace, target) ? link : target);
}

/** For example `guardrail_007_make_test.log`: the log of a check in iteration 7. */
export function checkAlias(iteration: number, log: string): string {
  return `guardrail_${String(iteration).padStart(3, '0')}_${basename(log)}`;
}

/** For example `prompt_007.txt`. */
export function promptAlias(run: string): string {
  return `prompt_${(run.split('.')[0] ?? '').padStart(3, '0')}.txt`;
}

function linkText(place: string, workspace: string, target: string): string {
  return relative(join(workspace, place), target);
}

function targetOf(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}
