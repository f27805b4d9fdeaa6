/**
 * What a caller may do with loops: one table, verb × caller × whose loop.
 *
 * 1. A person may do everything. A run may change only loops that its own loop has started, and theirs, so that an agent cannot
 *    change its own terms by the front door. Outside of a sandbox it has all rights of its user, and this is a guard against accidents.
 * 2. For a sandbox there are only its own loop and the loops below it. The owner of its loop judges.
 * 3. An assistant may change what the settings allow; inside a run only of the loops below.
 * 4. The process table is read only for verbs that a run may not use on every loop.
 */
import type { McpChange } from '../settings/settings.ts';
import { descendsFrom, enclosingRuns, loopOf, type EnclosingRun } from '../home/enclosing-runs.ts';
import { findFolder } from '../home/read-loop.ts';
import { UserError } from '../user-error.ts';
import type { LoopRef } from './loops.ts';

/** Who asks. */
export type Caller =
  | { readonly is: 'person' }
  /** An agent or a check: the runs that it works for, the innermost first. */
  | { readonly is: 'run'; readonly runs: readonly EnclosingRun[] }
  | { readonly is: 'sandbox'; readonly own: LoopRef }
  /** A program that acts for a person, perhaps inside a run. `allow` throws unless the settings allow the change. */
  | { readonly is: 'assistant'; readonly runs: readonly EnclosingRun[]; readonly allow: Allow };

type Allow = (change: McpChange, workspace: string) => Promise<void>;

/** Of whose loops a right holds: `below` are those that the caller's own loop has started, and theirs. */
type Reach = 'any' | 'not own' | 'own' | 'below' | 'own and below' | 'none';

/** What an assistant may do: `allowed` is what the settings say. */
type Assisted = 'any' | 'allowed' | 'none';

export type Verb =
  | McpVerb
  | 'look'
  | 'wait'
  | 'diff'
  | 'set'
  | 'kill'
  | 'rewind'
  | 'remove'
  | 'merge'
  /** A new loop in the place of another one. */
  | 'replace';

/** What the settings can allow an assistant. */
type McpVerb = Exclude<McpChange, 'start'>;

const RIGHTS: Readonly<Record<Verb, readonly [Reach, Reach, Assisted]>> = {
  //          run        sandbox          assistant
  look: ['any', 'own and below', 'any'],
  wait: ['not own', 'below', 'any'],
  // A patch can be larger than the memory of an owner.
  diff: ['any', 'none', 'any'],
  tell: ['any', 'own', 'allowed'],
  stop: ['below', 'below', 'allowed'],
  pause: ['below', 'none', 'allowed'],
  resume: ['below', 'none', 'allowed'],
  answer: ['below', 'none', 'allowed'],
  set: ['below', 'none', 'none'],
  kill: ['below', 'none', 'none'],
  rewind: ['below', 'none', 'none'],
  remove: ['below', 'none', 'none'],
  merge: ['below', 'none', 'none'],
  replace: ['below', 'below', 'any'],
};

/** The rights of a caller, who is found out when that matters. */
export class Rights {
  readonly #find: (() => Caller) | null;
  #caller: Caller | null = null;

  /** Without a caller those of this process: a person's, or those of the runs that it works for. */
  constructor(find: (() => Caller) | null = null) {
    this.#find = find;
  }

  /** Whether a person asks, who may do everything. */
  get isPerson(): boolean {
    return this.#who.is === 'person';
  }

  /** Throws unless the caller may do this with the loop; `as` is what the caller has typed. */
  async require(verb: Verb, loop: LoopRef, as: string): Promise<void> {
    const [forRun, , assisted] = RIGHTS[verb];
    if (this.#find === null && forRun === 'any') return;
    const caller = this.#who;
    if (caller.is === 'person') return;
    if (caller.is === 'assistant') {
      if (assisted === 'none') throw refusal(as, 'an assistant cannot do this');
      if (isChange(verb)) await caller.allow(verb, loop.workspace);
    }
    const stranger = strangerTo(loop, verb, caller);
    if (stranger === undefined) return;
    throw caller.is === 'sandbox' ? inSandbox(verb, loop, caller.own) : inRun(verb, loop, stranger, as);
  }

  /** Whether the caller may do this with the loop; not for what the settings allow an assistant. */
  allow(verb: Exclude<Verb, McpVerb>, loop: LoopRef): boolean {
    const [forRun, , assisted] = RIGHTS[verb];
    if (this.#find === null && forRun === 'any') return true;
    const caller = this.#who;
    if (caller.is === 'person') return true;
    if (caller.is === 'assistant' && assisted === 'none') return false;
    return strangerTo(loop, verb, caller) === undefined;
  }

  /** Throws inside a run: `as` changes what loops may do, or something that no loop owns. */
  requireTerms(as: string): void {
    if (!this.isPerson) throw refusal(as, 'it changes what loops may do');
  }

  get #who(): Caller {
    this.#caller ??= this.#find === null ? callerHere() : this.#find();
    return this.#caller;
  }
}

/** The rights of this process as an assistant's, which may be inside a run. */
export function assistantRights(allow: Allow): Rights {
  return new Rights(() => ({ is: 'assistant', runs: enclosingRuns(), allow }));
}

/** The caller that this process is: a person, or the runs that it works for. */
function callerHere(): Caller {
  const runs = enclosingRuns();
  return runs.length === 0 ? { is: 'person' } : { is: 'run', runs };
}

function isChange(verb: Verb): verb is McpVerb {
  return RIGHTS[verb][2] === 'allowed';
}

/** A run of the caller for whose loop the verb does not reach this one; undefined if there is none. */
function strangerTo(
  loop: LoopRef,
  verb: Verb,
  caller: Exclude<Caller, { is: 'person' }>,
): Pick<EnclosingRun, 'loop'> | undefined {
  const [forRun, forSandbox] = RIGHTS[verb];
  const isSandbox = caller.is === 'sandbox';
  // What an assistant tells a loop is for its agent the word of a person.
  const inside = caller.is === 'assistant' && isChange(verb) ? 'below' : forRun;
  const reach = isSandbox ? forSandbox : inside;
  const runs = isSandbox ? [{ loop: caller.own.id }] : caller.runs;
  return reach === 'any' ? undefined : runs.find((run) => !holds(reach, whose(loop, run)));
}

type Whose = 'own' | 'below' | 'other';

function whose({ id, name, workspace }: LoopRef, run: Pick<EnclosingRun, 'loop'>): Whose {
  const spec = loopOf({ loop: id });
  // The id of a loop of one's own must not lead to another one.
  if (spec === null || spec.name !== name || spec.workspace !== workspace) return 'other';
  if (run.loop === id) return 'own';
  // What is said about an archived one could name the loop that has its name now.
  return findFolder(workspace, name)?.id === id && descendsFrom(spec, run) ? 'below' : 'other';
}

function holds(reach: Reach, is: Whose): boolean {
  switch (reach) {
    case 'any':
      return true;
    case 'not own':
      return is !== 'own';
    case 'own and below':
      return is !== 'other';
    case 'own':
    case 'below':
      return is === reach;
    case 'none':
      return false;
  }
}

function inRun(verb: Verb, loop: LoopRef, run: Pick<EnclosingRun, 'loop'>, as: string): UserError {
  const { name } = loop;
  if (verb === 'replace') return replacing(name);
  // The run has to end before its own loop can, and before any loop that waits for that one.
  if (verb === 'wait') return waitsForItself(as, name);
  const own = loopOf(run);
  const why =
    own === null
      ? `the loop of this run cannot be read, so "${name}" is not known to be a child of it`
      : own.id === loop.id
        ? `"${name}" is the loop of this run`
        : `"${name}" is not a child loop of "${own.name}"`;
  return refusal(as, `${why}, and an agent can change only child loops that its loop has started`);
}

export function waitsForItself(as: string, name: string): UserError {
  return new UserError(
    `"${as}" would wait for "${name}", which waits for this run\n` +
      `Look at its present state instead: ${as.startsWith('ralph logs') ? 'ralph logs' : 'ralph status'} ${name}`,
  );
}

function replacing(name: string): UserError {
  return new UserError(
    `a new loop named "${name}" would replace the loop "${name}", which this run has not started\n` +
      'Choose another name, or start the loop without one.',
  );
}

function refusal(as: string, why: string): UserError {
  return new UserError(
    `"${as}" is refused inside a run: ${why}\n` +
      'Continue with the task. If the change is needed, say so in your answer: a person can run the command.',
  );
}

function inSandbox(verb: Verb, { id, name }: LoopRef, own: LoopRef): UserError {
  if (RIGHTS[verb][1] === 'none') return new UserError(`ralph ${verb} does not work inside a sandbox`);
  if (verb === 'replace') return replacing(name);
  if (verb === 'tell') return new UserError(`inside a sandbox, ralph tell works only for ${own.name}`);
  return new UserError(
    id === own.id
      ? `"${name}" is the loop of this run; ralph ${verb} works for its child loops`
      : `a sandbox has only its own loop, ${JSON.stringify(own.name)}, and the child loops that it has started; got ${JSON.stringify(name.slice(0, 100))}`,
  );
}
