/** The shape of what a loop is asked to do, in a step of a plugin and in the state of a session. */
import { flag, list, nonBlank, optional, rule, shortText, whole, type Rule } from '../loop/shape.ts';
import type { RalphArguments } from './arguments.ts';

/** A task, a check or a name: longer than any of them is. */
export const text: Rule = (value, field) => {
  const blank = nonBlank(value, field);
  return blank.length > 0 ? blank : shortText(2 ** 20)(value, field);
};

const amount: Rule = rule(
  'a number > 0',
  (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
);

export const ARGUMENTS: Readonly<Record<keyof RalphArguments, Rule>> = {
  prompt: text,
  maxIterations: optional(whole(1)),
  completionPromise: optional(text),
  checks: list(text),
  maxTime: optional(text),
  maxCost: optional(amount),
  maxTokens: optional(whole(1)),
  strict: optional(flag),
};
