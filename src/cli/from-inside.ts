/**
 * What an agent can do with the commands of Ralph from inside its run.
 *
 * 1. Every command has a row in the table. A command without one is refused.
 * 2. What can be done with loops is decided by their rights (`loops/rights.ts`): by the hall where a command uses it, else here.
 */
import { findRef } from '../loops/find.ts';
import { sandboxRequests } from '../loops/here.ts';
import { Rights, type Verb, waitsForItself } from '../loops/rights.ts';
import { UserError } from '../user-error.ts';
import { hall } from './hall.ts';
import { workspaceOf } from './workspace.ts';

type Rule =
  /** Reads, sends a message that the loop shows to its agent, or starts a child loop. */
  | 'free'
  /** Prints, and with `--follow` waits for the end of a loop. */
  | 'follows'
  /** Does this with the loop that its first argument names. */
  | Verb
  /** Changes what loops may do, or something that no loop owns. */
  | 'terms';

/** A row for every command, by its words. */
export const FROM_INSIDE: Readonly<Record<string, Rule>> = {
  run: 'free',
  loop: 'free',
  demo: 'free',
  skill: 'free',
  status: 'free',
  ls: 'free',
  // What it does with a loop, the hall decides.
  watch: 'free',
  logs: 'follows',
  attach: 'wait',
  story: 'free',
  report: 'free',
  diff: 'free',
  // It stays, and lets its reader change every loop.
  ui: 'terms',
  'plan check': 'free',
  'plan show': 'free',
  tell: 'free',
  resume: 'resume',
  pause: 'pause',
  stop: 'stop',
  set: 'set',
  rewind: 'rewind',
  rm: 'remove',
  'worktree ls': 'free',
  'worktree merge': 'merge',
  'worktree rm': 'remove',
  init: 'terms',
  template: 'free',
  completion: 'free',
  complete: 'free',
  config: 'free',
  agents: 'free',
  doctor: 'free',
  'notify test': 'terms',
  trust: 'terms',
  move: 'terms',
  'service install': 'terms',
  'service uninstall': 'terms',
  'service status': 'free',
  spawn: 'free',
  wait: 'wait',
  kill: 'kill',
  'bus post': 'free',
  'bus read': 'free',
  'bus watch': 'free',
  'bus discover': 'free',
  mcp: 'free',
  answer: 'answer',
  // Programs of agents call these for every session, and they change only the loop of that session.
  'hook claude': 'free',
  'hook codex': 'free',
  'hook step': 'free',
  'hook install': 'terms',
  'hook uninstall': 'terms',
  // Document 003's commands.
  'ralph init': 'terms',
  'ralph template': 'free',
  'ralph status': 'free',
  'ralph pause': 'pause',
  'ralph resume': 'resume',
  'ralph list': 'free',
  'daemon run': 'free',
  'daemon status': 'free',
  'daemon logs': 'free',
  'daemon stop': 'terms',
};

/**
 * The commands that work in a sandbox, where the state of all loops is hidden: the owner of its loop answers, and buses and plans lie
 * in the workspace.
 */
const IN_SANDBOX: ReadonlySet<string> = new Set([
  'run',
  'loop',
  'spawn',
  'status',
  'ls',
  'logs',
  'story',
  'report',
  'wait',
  'tell',
  'stop',
  'bus post',
  'bus read',
  'bus watch',
  'bus discover',
  'plan check',
  'plan show',
  'mcp',
  'completion',
  'complete',
  'skill',
]);

/** A command as it was called. */
export interface CalledCommand {
  /** Its words: `worktree merge`. */
  readonly name: string;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** Throws if this process works for a run and the command is not allowed there. */
export async function refuseFromInside(command: CalledCommand, rights: Rights = new Rights()): Promise<void> {
  const { name, args, options } = command;
  const rule = FROM_INSIDE[name] ?? 'terms';
  const isFollowing = rule === 'follows' && options['follow'] === true;
  // Without a name, a command that reads is about the loop of the run.
  const [loop = isFollowing ? 'self' : undefined] = args;
  if (sandboxRequests() !== null) return refuseInSandbox(command);
  // `trust --show` changes nothing.
  if (rule === 'free' || (rule === 'follows' && !isFollowing) || options['show'] === true) return;
  const folder = workspaceOf(typeof options['cwd'] === 'string' ? { cwd: options['cwd'] } : {});
  if (rights.isPerson) return;
  const verb = rule === 'follows' ? 'wait' : rule;
  if (verb === 'terms' || (loop === undefined && verb !== 'wait'))
    return rights.requireTerms(`ralph ${name}`);
  if (loop !== undefined) await rights.require(verb, findRef(folder, loop), `ralph ${name} ${loop}`);
}

/** Throws if a command does not work in a sandbox. What it may do with which loop is decided by the owner. */
async function refuseInSandbox({ name, args, options }: CalledCommand): Promise<void> {
  if (!IN_SANDBOX.has(name)) {
    const known = [...new Set([...IN_SANDBOX].map((words) => words.split(' ')[0]))];
    const list = `${known.slice(0, -1).join(', ')} and ${known.at(-1)}`;
    throw new UserError(`ralph ${name} does not work inside a sandbox; only ralph ${list} do`);
  }
  const [loop = 'self'] = args;
  if (FROM_INSIDE[name] === 'follows' && options['follow'] === true) {
    const loops = hall();
    const [own, followed] = await Promise.all([loops.find('self', '.'), loops.find(loop, '.')]);
    if (followed.id === own.id) throw waitsForItself(`ralph ${name} ${loop}`, loop);
  }
}
