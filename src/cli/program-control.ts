import type { Command } from 'commander';
import type { KillOptions } from './kill.ts';
import type { Add, Call, Done } from './program-call.ts';
import { WORKSPACE } from './program-options.ts';

/** Adds the commands that change loops. */
export function controlCommands(add: Add, { isCalled, done }: Call): void {
  add('pause [name]', 'pause a loop after the running iteration')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: object) => {
      const { pause } = await import('./control.ts');
      done(await pause(name ?? null, options));
    });
  add('stop [name]', 'stop a loop after the running step')
    .option('--now', 'stop the running step too')
    .option('--tree', 'stop its child loops and theirs too')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: object) => {
      const { stop } = await import('./control.ts');
      done(await stop(name ?? null, options));
    });
  add('kill [name]', 'end a loop and its agent now, and wait until both are gone')
    .option('--all', 'kill all loops of the workspace that have not ended')
    .option('--rm-worktree', "also remove the loop's worktree and branch, unless they have unsaved work")
    .option('--force-dirty', 'with --rm-worktree: discard unsaved work too')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: KillOptions) => {
      const { kill } = await import('./kill.ts');
      done(await kill(name ?? null, options));
    });
  add('tell <words...>', "add words to the agent's next prompt (- = stdin)")
    .usage('[options] [NAME] WORDS…')
    .option(...WORKSPACE)
    .action(async (words: readonly string[], options: object) => {
      const { tell } = await import('./control.ts');
      done(await tell(words, options));
    });
  add('answer <words...>', "answer the agent's question; the next prompt has the answer (- = stdin)")
    .usage('[options] [NAME] WORDS…')
    .option('--question <id>', 'the question to answer (default: the oldest open one)')
    .option(...WORKSPACE)
    .action(async (words: readonly string[], options: object) => {
      const { answer } = await import('./control.ts');
      done(await answer(words, options));
    });
  add('set <settings...>', 'change the limits of a loop: max-iterations=20 max-time=2h …')
    .usage('[options] [NAME] KEY=VALUE…')
    .option(...WORKSPACE)
    .action(async (settings: readonly string[], options: object) => {
      const { set } = await import('./set.ts');
      done(await set(settings, options));
    });
  add('rewind <name> <checkpoint>', 'restore the files as they were after iteration N, or at the start')
    .option(...WORKSPACE)
    .action(async (name: string, checkpoint: string, options: object) => {
      const { rewind } = await import('./rewind.ts');
      done(await rewind(name, checkpoint, options));
    });
  add('rm [name]', 'remove a loop and its logs')
    .option('--gone', 'remove the loops of all workspaces that are gone')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: object) => {
      const { rm } = await import('./rm.ts');
      done(await rm(name ?? null, options));
    });
  add('move <old-folder>', 'take the loops of a workspace that was moved along to this one')
    .option(...WORKSPACE)
    .action(async (from: string, options: object) => {
      const { move } = await import('./move.ts');
      done(await move(from, options));
    });
  const worktree = add('worktree', 'list, merge or remove the worktrees of loops');
  if (isCalled('worktree')) worktreeCommands(worktree, done);
}

function worktreeCommands(worktree: Command, done: Done): void {
  const add: Add = (name, description) => worktree.command(name).description(description);
  worktree.helpCommand('help [command]', 'print the help of a command');
  add('ls', 'list the worktrees of the loops of the workspace')
    .option('--json', 'print JSON')
    .option(...WORKSPACE)
    .action(async (options: object) => {
      const { listTrees } = await import('./worktree.ts');
      done(await listTrees(options));
    });
  add('merge <name>', "merge a loop's branch into the current branch, if the checks pass on the result")
    .option('--no-checks', 'merge without running setup and checks')
    .option(...WORKSPACE)
    .action(async (name: string, options: { readonly checks: boolean }) => {
      const { mergeTree } = await import('./worktree.ts');
      done(await mergeTree(name, options));
    });
  add('rm <name>', "remove a loop's worktree and branch; keep the loop and its logs")
    .option('--force', 'discard work that exists nowhere else')
    .option(...WORKSPACE)
    .action(async (name: string, options: object) => {
      const { removeTree } = await import('./worktree.ts');
      done(await removeTree(name, options));
    });
}
