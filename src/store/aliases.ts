/**
 * Aliases: symbolic links in `.ralph/`, under the names that document 001 gives to a loop's files. People and prompts use
 * them. Ralph itself never reads through an alias, because another loop may have taken its name.
 */
import { readdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { inRalphFolder } from './ralph-folder.ts';
import { findFolder, liveOwner } from './read-loop.ts';

/** Links `.ralph/<alias>` to a file on the desk of a loop. Returns false if a file or a running loop has the name. */
export function linkAlias(workspace: string, alias: string, target: string): boolean {
  const linked = linkText(workspace, target);
  try {
    return inRalphFolder(workspace, (folder) => {
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
  const [, name = ''] = taken.split('/');
  if (linked.startsWith(`loops/${name}/`)) return false;
  const folder = findFolder(workspace, name);
  return folder !== null && liveOwner(folder) !== null;
}

/** Removes an alias if it still links to the file. */
export function unlinkAlias(workspace: string, alias: string, target: string): void {
  inRalphFolder(workspace, (folder) => {
    const link = join(folder, alias);
    if (targetOf(link) === linkText(workspace, target)) unlinkSync(link);
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
  return relative(workspace, targetOf(link) === linkText(workspace, target) ? link : target);
}

/** For example `guardrail_007_make_test.log`: the log of a check in iteration 7. */
export function checkAlias(iteration: number, log: string): string {
  return `guardrail_${String(iteration).padStart(3, '0')}_${basename(log)}`;
}

/** For example `prompt_007.txt`. */
export function promptAlias(run: string): string {
  return `prompt_${(run.split('.')[0] ?? '').padStart(3, '0')}.txt`;
}

function linkText(workspace: string, target: string): string {
  return relative(join(workspace, '.ralph'), target);
}

function targetOf(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}
