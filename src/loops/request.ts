/**
 * A verb of the hall as JSON, and its answer. A request comes from where an agent can write, so every argument is checked.
 */
import { controlIn } from '../loop/control-shape.ts';
import {
  type Rule,
  fits,
  flag,
  isRecord,
  nullable,
  object,
  optional,
  rule,
  string,
  table,
  whole,
} from '../loop/shape.ts';
import { CHILD_START } from './child-start.ts';
import { EVENTS_FROM } from './events.ts';
import { RANGE, RUN_ID, WHAT } from './output.ts';
import { loopId, loopNameRule } from '../home/spec.ts';
import { UserError, reasonOf } from '../user-error.ts';
import type { Loops } from './loops.ts';

export interface LoopsRequest {
  readonly verb: keyof Loops;
  /** Without the `Call`, of which only the wait can be sent. */
  readonly args: readonly unknown[];
  readonly wait?: number;
}

export type LoopsAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string; readonly exitCode: number };

const loop: Rule = object({ id: loopId, name: loopNameRule, workspace: string });
const filter: Rule = object({
  workspace: nullable(string),
  status: optional(nullable(string)),
  tag: optional(nullable(string)),
  waitable: optional(flag),
});
const isObject = rule('settings', isRecord);
const treeId = rule(
  'the id of a tree',
  (value) => typeof value === 'string' && /^[\da-f]{40}(?:[\da-f]{24})?$/.test(value),
);
const control = rule('a control', (value) => controlIn(value) !== null);

/** What the arguments of each verb must look like. */
const ARGUMENTS: Readonly<Record<keyof Loops, readonly Rule[]>> = {
  find: [string, string],
  list: [filter],
  strays: [nullable(string)],
  changes: [filter, nullable(table(string))],
  get: [loop],
  events: [loop, EVENTS_FROM],
  runs: [loop],
  output: [loop, RUN_ID, WHAT, RANGE],
  facts: [loop, object({ since: optional(nullable(whole(0))), countsTests: optional(flag) })],
  resume: [loop, object({ limits: isObject, now: flag, env: table(string), detach: flag })],
  send: [loop, control],
  stopTree: [loop, flag],
  kill: [loop],
  diff: [loop, nullable(string)],
  patch: [loop, object({ before: treeId, after: treeId }), RANGE],
  rewind: [loop, string],
  remove: [loop],
  move: [string, string],
  merge: [loop, flag],
  removeWorktree: [loop, flag],
  start: [CHILD_START],
  wait: [loop],
};

/**
 * The request of a verb that is called with these arguments, the last of which may be the `Call`. Of the view of a loop only what
 * names the loop is sent.
 */
export function requestOf(verb: keyof Loops, args: readonly unknown[]): LoopsRequest {
  const rules = ARGUMENTS[verb];
  const call = args[rules.length];
  const wait = isRecord(call) && typeof call['wait'] === 'number' ? { wait: call['wait'] } : {};
  const sent = rules.flatMap((one, index) =>
    index < args.length ? [one === loop ? refIn(args[index]) : args[index]] : [],
  );
  return { verb, args: sent, ...wait };
}

function refIn(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { id, name, workspace } = value;
  return { id, name, workspace };
}

/** Null if it is none. */
export function requestIn(value: unknown): LoopsRequest | null {
  if (!fits(REQUEST, value) || !isRecord(value) || !isVerb(value['verb'])) return null;
  const { verb, args, wait } = value;
  const rules = ARGUMENTS[verb];
  if (!Array.isArray(args) || args.length !== rules.length) return null;
  const given: readonly unknown[] = args;
  if (!rules.every((one, index) => fits(one, given[index]))) return null;
  return { verb, args: given, ...(typeof wait === 'number' ? { wait } : {}) };
}

const REQUEST = object({ verb: string, args: rule('arguments', Array.isArray), wait: optional(whole(0)) });

function isVerb(value: unknown): value is keyof Loops {
  return typeof value === 'string' && Object.hasOwn(ARGUMENTS, value);
}

/** Carries a request out, whatever has brought it. An error is an answer, too. A wait ends with the signal. */
export async function answer(
  loops: Loops,
  { verb, args, wait = 0 }: LoopsRequest,
  signal: AbortSignal,
): Promise<LoopsAnswer> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `requestIn` has checked every argument
  const carryOut = loops[verb] as (...args: readonly unknown[]) => Promise<unknown>;
  try {
    return { ok: true, value: await carryOut(...args, { signal, wait }) };
  } catch (error) {
    return {
      ok: false,
      message: reasonOf(error),
      exitCode: error instanceof UserError ? error.exitCode : 3,
    };
  }
}
