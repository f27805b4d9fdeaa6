/**
 * Aliases: symbolic links in `.ralph/`, under the names that document 001 gives to a loop's files. People and prompts use
 * them. Ralph itself never reads through an alias, because another loop may have taken its name.
 */
import { readdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { loopFolder } from './store.ts';
import { liveOwner } from './read-loop.ts';

/** Links `.ralph/<alias>` to a file of a loop. Returns false if a file or a running loop has the name. */
export function linkAlias(workspace: string, alias: string, target: string): boolean {
  const link = join(workspace, '.ralph', alias);
  const linked = linkText(link, target);
  try {
    symlinkSync(linked, link);
    return true;
  } catch {
    const taken = targetOf(link);
    if (taken === null) return false;
    if (taken === linked) return true;
    const [, owner = ''] = taken.split('/');
    const isOwn = linked.startsWith(`loops/${owner}/`);
    if (!isOwn && liveOwner(loopFolder(workspace, owner)) !== null) return false;
  }
  try {
    unlinkSync(link);
    symlinkSync(linked, link);
    return true;
  } catch {
    return false;
  }
}

/** Removes an alias if it still links to the file. */
export function unlinkAlias(workspace: string, alias: string, target: string): void {
  const link = join(workspace, '.ralph', alias);
  if (targetOf(link) === linkText(link, target)) unlinkSync(link);
}

/** Removes all aliases of a loop. */
export function unlinkAliases(workspace: string, loop: string): void {
  const folder = join(workspace, '.ralph');
  for (const name of readdirSync(folder)) {
    if (targetOf(join(folder, name))?.startsWith(`loops/${loop}/`) === true) unlinkSync(join(folder, name));
  }
}

/** The path of a file for a prompt, relative to the workspace: its alias if that links to it, else its own path. */
export function aliasOrPath(workspace: string, alias: string, target: string): string {
  const link = join(workspace, '.ralph', alias);
  return relative(workspace, targetOf(link) === linkText(link, target) ? link : target);
}

/** For example `guardrail_007_make_test.log`: the log of a check in iteration 7. */
export function checkAlias(iteration: number, log: string): string {
  return `guardrail_${String(iteration).padStart(3, '0')}_${basename(log)}`;
}

/** For example `prompt_007.txt`. */
export function promptAlias(run: string): string {
  return `prompt_${(run.split('.')[0] ?? '').padStart(3, '0')}.txt`;
}

function linkText(link: string, target: string): string {
  return relative(dirname(link), target);
}

function targetOf(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}
