/**
 * A verb of the hall as JSON, and its answer. A request comes from where an agent can write, so every argument is checked.
 */
import { controlIn } from '../loop/control-shape.ts';
import {
  fits,
  flag,
  isRecord,
  nullable,
  object,
  optional,
  rule,
  string,
  table,
  type Rule,
} from '../loop/shape.ts';
import { CHILD_START } from './child-start.ts';
import { EVENTS_FROM } from './events.ts';
import { RANGE, RUN_ID, WHAT } from './output.ts';
import type { SandboxAnswer } from '../sandbox/requests.ts';
import { loopId, loopNameRule } from '../store/spec-shape.ts';
import { reasonOf, UserError } from '../user-error.ts';
import type { Loops } from './loops.ts';

export interface LoopsRequest {
  readonly verb: keyof Loops;
  /** Without what cannot be sent: the `Call`. */
  readonly args: readonly unknown[];
}

const loop: Rule = object({ id: loopId, name: loopNameRule, workspace: string });
const isObject = rule('settings', isRecord);
const control = rule('a control', (value) => controlIn(value) !== null);

/** What the arguments of each verb must look like. */
const ARGUMENTS: Readonly<Record<keyof Loops, readonly Rule[]>> = {
  find: [string, string],
  list: [
    object({
      workspace: nullable(string),
      status: optional(nullable(string)),
      tag: optional(nullable(string)),
    }),
  ],
  get: [loop],
  events: [loop, EVENTS_FROM],
  runs: [loop],
  output: [loop, RUN_ID, WHAT, RANGE],
  resume: [loop, object({ limits: isObject, now: flag, env: table(string), detach: flag })],
  send: [loop, control],
  stopTree: [loop, flag],
  kill: [loop],
  rewind: [loop, string],
  remove: [loop],
  merge: [loop, flag],
  removeWorktree: [loop, flag],
  start: [CHILD_START],
  wait: [loop],
};

/** The request of a verb that is called with these arguments. */
export function requestOf(verb: keyof Loops, args: readonly unknown[]): LoopsRequest {
  return { verb, args: args.slice(0, ARGUMENTS[verb].length) };
}

/** Null if it is none. */
export function requestIn(value: unknown): LoopsRequest | null {
  if (!isRecord(value) || Object.keys(value).length !== 2 || !isVerb(value['verb'])) return null;
  const { verb, args } = value;
  const rules = ARGUMENTS[verb];
  if (!Array.isArray(args) || args.length !== rules.length) return null;
  const given: readonly unknown[] = args;
  return rules.every((one, index) => fits(one, given[index])) ? { verb, args: given } : null;
}

function isVerb(value: unknown): value is keyof Loops {
  return typeof value === 'string' && Object.hasOwn(ARGUMENTS, value);
}

/** Carries a request out. An error is an answer, too. A wait ends with the signal. */
export async function answer(
  loops: Loops,
  { verb, args }: LoopsRequest,
  signal: AbortSignal,
): Promise<SandboxAnswer> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `requestIn` has checked every argument
  const carryOut = loops[verb] as (...args: readonly unknown[]) => Promise<unknown>;
  try {
    return { ok: true, value: await carryOut(...args, { signal }) };
  } catch (error) {
    return {
      ok: false,
      message: reasonOf(error),
      exitCode: error instanceof UserError ? error.exitCode : 3,
    };
  }
}
