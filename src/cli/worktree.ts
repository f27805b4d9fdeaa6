import { worktreeTable } from '../text/list.ts';
import { brief } from '../text/one-line.ts';
import { counted } from '../loop/counted.ts';
import { localLoops } from '../loops/local-loops.ts';
import { print, printColumns, printJson, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

interface Where {
  readonly cwd?: string;
}

/** `ralph worktree ls`: lists the worktrees of the loops of this workspace. */
export async function listTrees(options: Where & { readonly json?: boolean }): Promise<number> {
  const trees = await localLoops().worktrees(workspaceOf(options));
  if (options.json === true) {
    printJson(trees, 2);
    return 0;
  }
  if (trees.length === 0) warn('no worktrees in this workspace; create one with: ralph run --worktree\n');
  else printColumns(worktreeTable(trees));
  return 0;
}

/** `ralph worktree merge`: merges into the current branch, once the checks pass on the result. */
export async function mergeTree(
  name: string,
  options: Where & { readonly checks: boolean },
): Promise<number> {
  const interrupt = new AbortController();
  const stop = (): void => interrupt.abort();
  process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', stop);
  try {
    const loops = localLoops();
    const loop = await loops.find(name, workspaceOf(options));
    const { branch, into, commit, commits } = await loops.merge(loop, options.checks, {
      say: (line) => warn(`[ralph] ${name}: ${brief(line)}\n`),
      signal: interrupt.signal,
    });
    if (commits === 0) print(`${into} already contains ${branch}\n`);
    else {
      print(`merged ${branch} into ${into} (${commit.slice(0, 7)}): ${counted(commits, 'commit')}\n`);
    }
    print(`remove the worktree with: ralph worktree rm ${name}\n`);
    return 0;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop).off('SIGHUP', stop);
  }
}

/** `ralph worktree rm`: removes the worktree and its branch, but not the loop and its logs. */
export async function removeTree(
  name: string,
  options: Where & { readonly force?: boolean },
): Promise<number> {
  const loops = localLoops();
  const loop = await loops.find(name, workspaceOf(options));
  const removed = await loops.removeWorktree(loop, options.force === true);
  if (removed === null) print(`the worktree of ${name} is already gone\n`);
  else {
    const lost = removed.lost === '' ? '' : `; discarded ${removed.lost}`;
    print(`removed ${removed.what}${lost}\n`);
  }
  return 0;
}
