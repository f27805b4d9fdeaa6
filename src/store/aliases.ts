/**
 * The names under which document 001 looks for a loop's files, beside the settings: links into the loop's folder. They are
 * for people and prompts; the loop itself never reads through one, since another loop may have taken the name.
 */
import { readdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { loopFolder } from './store.ts';
import { liveOwner } from './read-loop.ts';

/** Makes `.ralph/<name>` lead to a file of a loop; false where something else has the name that must not be touched. */
export function linkBeside(workspace: string, name: string, target: string): boolean {
  const link = join(workspace, '.ralph', name);
  const place = relative(dirname(link), target);
  try {
    symlinkSync(place, link);
    return true;
  } catch {
    const taken = targetOf(link);
    if (taken === null) return false;
    if (taken === place) return true;
    const [, owner = ''] = taken.split('/');
    const isOurs = place.startsWith(`loops/${owner}/`);
    if (!isOurs && liveOwner(loopFolder(workspace, owner)) !== null) return false;
  }
  try {
    unlinkSync(link);
    symlinkSync(place, link);
    return true;
  } catch {
    return false;
  }
}

/** Takes the name back, if it still leads there. */
export function unlinkBeside(workspace: string, name: string, target: string): void {
  const link = join(workspace, '.ralph', name);
  if (targetOf(link) === relative(dirname(link), target)) unlinkSync(link);
}

/** Removes every name that leads to a loop. */
export function unlinkAll(workspace: string, loop: string): void {
  const folder = join(workspace, '.ralph');
  for (const name of readdirSync(folder)) {
    if (targetOf(join(folder, name))?.startsWith(`loops/${loop}/`) === true) unlinkSync(join(folder, name));
  }
}

/** How a file is told to an agent: by its name beside the settings where that leads to it, else by its own. */
export function nameBeside(workspace: string, name: string, target: string): string {
  const link = join(workspace, '.ralph', name);
  return targetOf(link) === relative(dirname(link), target)
    ? relative(workspace, link)
    : relative(workspace, target);
}

/** `guardrail_007_make_test.log` for the log of a check in the seventh iteration. */
export function checkAlias(iteration: number, log: string): string {
  return `guardrail_${String(iteration).padStart(3, '0')}_${basename(log)}`;
}

export function promptAlias(run: string): string {
  return `prompt_${(run.split('.')[0] ?? '').padStart(3, '0')}.txt`;
}

function targetOf(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}
