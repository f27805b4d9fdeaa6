/**
 * What an agent can do with the commands of Ralph from inside its run.
 *
 * 1. Every command has a row in the table. A command without one is refused.
 * 2. A command that changes something is allowed only for loops that the run's own loop has started, and for theirs.
 * 3. The process table is read only for commands that change something or wait.
 *
 * This keeps an agent from changing its own terms by the front door. An agent without a sandbox has all rights of its user.
 */
import { refusal, refuseChange, refuseReplacing } from '../owner/refuse-change.ts';
import { enclosingRuns, loopOf } from '../store/enclosing-runs.ts';
import { UserError } from '../user-error.ts';
import { findLoop } from './loops.ts';
import { workspaceOf } from './workspace.ts';

type Rule =
  /** Reads, or sends a message that the loop shows to its agent. */
  | 'free'
  /** Starts a child loop. With `--name` it can replace a loop. */
  | 'starts'
  /** Prints, and with `--follow` waits for the end of a loop. */
  | 'follows'
  /** Waits for the end of a loop. */
  | 'waits'
  /** Changes the loop that its first argument names. */
  | 'changes-loop'
  /** Changes what loops may do, or something that no loop owns. */
  | 'changes-terms';

/** A row for every command, by its words. */
export const FROM_INSIDE: Readonly<Record<string, Rule>> = {
  run: 'starts',
  loop: 'starts',
  demo: 'free',
  status: 'free',
  ls: 'free',
  logs: 'follows',
  attach: 'waits',
  story: 'free',
  diff: 'free',
  'plan check': 'free',
  'plan show': 'free',
  tell: 'free',
  resume: 'changes-loop',
  pause: 'changes-loop',
  stop: 'changes-loop',
  set: 'changes-loop',
  rewind: 'changes-loop',
  rm: 'changes-loop',
  'worktree ls': 'free',
  'worktree merge': 'changes-loop',
  'worktree rm': 'changes-loop',
  init: 'changes-terms',
  template: 'free',
  config: 'free',
  agents: 'free',
  doctor: 'free',
  trust: 'changes-terms',
  move: 'changes-terms',
  'service install': 'changes-terms',
  'service uninstall': 'changes-terms',
  'service status': 'free',
  spawn: 'starts',
  wait: 'waits',
  kill: 'changes-loop',
  'bus post': 'free',
  'bus read': 'free',
  'bus watch': 'free',
  'bus discover': 'free',
  mcp: 'free',
  answer: 'changes-loop',
  // Programs of agents call these for every session, and they change only the loop of that session.
  'hook claude': 'free',
  'hook codex': 'free',
  'hook step': 'free',
  'hook install': 'changes-terms',
  'hook uninstall': 'changes-terms',
  // Document 003's commands.
  'ralph init': 'changes-terms',
  'ralph template': 'free',
  'ralph status': 'free',
  'ralph pause': 'changes-loop',
  'ralph resume': 'changes-loop',
  'ralph list': 'free',
  'daemon run': 'free',
  'daemon status': 'free',
  'daemon logs': 'free',
  'daemon stop': 'changes-terms',
};

/** A command as it was called. */
export interface CalledCommand {
  /** Its words: `worktree merge`. */
  readonly name: string;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** Throws if this process works for a run and the command is not allowed there. */
export function refuseFromInside(command: CalledCommand): void {
  const { name, args, options } = command;
  const rule = FROM_INSIDE[name] ?? 'changes-terms';
  const [loop] = args;
  switch (rule) {
    case 'free':
      return;
    case 'starts':
      if (typeof options['name'] === 'string') refuseReplacing(workspaceOf(where(options)), options['name']);
      return;
    case 'follows':
      return options['follow'] === true && loop !== undefined ? refuseWaiting(command, loop) : undefined;
    case 'waits':
      return loop === undefined ? undefined : refuseWaiting(command, loop);
    case 'changes-loop':
    case 'changes-terms': {
      // `trust --show` changes nothing.
      if (options['show'] === true) return;
      const runs = enclosingRuns();
      const isForLoop = rule === 'changes-loop' && loop !== undefined;
      if (runs.length === 0) return;
      if (!isForLoop) throw refusal(`ralph ${name}`, 'it changes what loops may do');
      return refuseChange(`ralph ${name} ${loop}`, findLoop(workspaceOf(where(options)), loop).spec, runs);
    }
  }
}

/** The run has to end before its own loop can, and before any loop that waits for that one. */
function refuseWaiting({ name, options }: CalledCommand, loop: string): void {
  const runs = enclosingRuns();
  if (runs.length === 0) return;
  const { spec } = findLoop(workspaceOf(where(options)), loop);
  if (!runs.some((run) => loopOf(run)?.id === spec.id)) return;
  const instead = name === 'logs' ? 'ralph logs' : 'ralph status';
  throw new UserError(
    `"ralph ${name} ${loop}" would wait for "${loop}", which waits for this run\n` +
      `Look at its present state instead: ${instead} ${loop}`,
  );
}

function where({ cwd }: CalledCommand['options']): { readonly cwd?: string } {
  return typeof cwd === 'string' ? { cwd } : {};
}
