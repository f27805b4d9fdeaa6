/**
 * The shape of the controls that a loop accepts from outside its own process, as messages.
 *
 * 1. Only what a person can ask for with a command: `abort` and `signal` come from the owner itself, a deadline from its
 *    caller. A message cannot choose how a loop ends.
 * 2. Only known fields are taken over.
 */
import { MAX_TELL_LENGTH, type Control } from './event.ts';
import {
  flag,
  isRecord,
  nonBlank,
  nullable,
  object,
  oneOf,
  partial,
  shortText,
  variant,
  type Problem,
  type Rule,
} from './shape.ts';
import { CHANGEABLE_LIMITS } from './validate.ts';

/** The problems of a message; none if it is a control that a loop accepts. */
export function problemsOfMessage(value: unknown): readonly Problem[] {
  return MESSAGE(value, '');
}

/** The control in a message; null if it is none that a loop accepts. */
export function controlIn(value: unknown): Control | null {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rules below check every field of the type
  return problemsOfMessage(value).length === 0 ? (value as Control) : null;
}

/** Longer than the id of any message on the bus. */
const MAX_ID_LENGTH = 200;

const type: Rule = oneOf(['pause', 'resume', 'stop', 'tell', 'answer', 'set']);
const text: Rule = (value, field) => {
  const blank = nonBlank(value, field);
  return blank.length > 0 ? blank : shortText(MAX_TELL_LENGTH)(value, field);
};
const nonEmpty: Rule = (value, field) =>
  isRecord(value) && Object.keys(value).length === 0
    ? [{ field, expected: 'an object with at least one limit', got: '{}' }]
    : partial(CHANGEABLE_LIMITS)(value, field);

const MESSAGE = variant('type', {
  pause: object({ type }),
  resume: object({ type, now: flag }),
  stop: object({ type, now: flag, by: oneOf(['person']) }),
  tell: object({ type, text }),
  answer: object({ type, question: nullable(shortText(MAX_ID_LENGTH)), text }),
  set: object({ type, limits: nonEmpty }),
} satisfies Partial<Record<Control['type'], Rule>>);
