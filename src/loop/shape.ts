/** Rules for the shape of a plain value. `validate.ts` combines them to a policy's, other files to those of what they read. */

/** What is wrong with one field: its name, the expected value and the value found. */
export interface Problem {
  readonly field: string;
  readonly expected: string;
  readonly got: string;
  /** The field itself is unknown. */
  readonly isUnknown?: true;
}

/** One line for people: the field, the expected value and the value found. */
export function describeProblem({ field, expected, got, isUnknown }: Problem): string {
  if (isUnknown === true) return `unknown field ${field}, expected ${expected}`;
  const name = field === '' ? 'the value' : field;
  if (got === ABSENT) return `${name} is required and must be ${expected}`;
  return `${name} must be ${expected}, got ${got}`;
}

export type Rule = (value: unknown, field: string) => readonly Problem[];

/** Shared, because a journal has many events and almost none has a problem. */
const NONE: readonly Problem[] = [];

export function rule(expected: string, holds: (value: unknown) => boolean): Rule {
  return (value, field) => (holds(value) ? NONE : [{ field, expected, got: show(value) }]);
}

export function object(known: Readonly<Record<string, Rule>>): Rule {
  return (value, field) => {
    if (!isRecord(value)) return [{ field, expected: 'an object', got: show(value) }];
    const unknown = Object.keys(value).filter((key) => !Object.hasOwn(known, key));
    return [
      ...unknown.map((key) => {
        const names = Object.keys(known).join(', ');
        return {
          field: join(field, key),
          expected: `one of ${names}`,
          got: show(value[key]),
          isUnknown: true as const,
        };
      }),
      ...Object.entries(known).flatMap(([key, check]) => check(own(value, key), join(field, key))),
    ];
  };
}

/** An object with at least these fields; others are ignored, so that files of other versions can be read. */
export function fields(known: Readonly<Record<string, Rule>>): Rule {
  const entries = Object.entries(known);
  return (value, field) => {
    if (!isRecord(value)) return [{ field, expected: 'an object', got: show(value) }];
    let problems: Problem[] | null = null;
    for (const [key, check] of entries) {
      const found = check(own(value, key), join(field, key));
      if (found.length > 0) (problems ??= []).push(...found);
    }
    return problems ?? NONE;
  };
}

/** An object that may have some of these fields, and no others. */
export function partial(known: Readonly<Record<string, Rule>>): Rule {
  return object(Object.fromEntries(Object.entries(known).map(([key, check]) => [key, optional(check)])));
}

/** An object used as a table: any keys, and values of one shape. */
export function table(item: Rule): Rule {
  return (value, field) => {
    if (!isRecord(value)) return [{ field, expected: 'an object', got: show(value) }];
    return Object.keys(value).flatMap((key) => item(value[key], join(field, key)));
  };
}

export function list(item: Rule): Rule {
  return (value, field) => {
    if (!Array.isArray(value)) return [{ field, expected: 'a list', got: show(value) }];
    return value.flatMap((part: unknown, index) => item(part, `${field}[${index}]`));
  };
}

export function nonEmptyList(item: Rule): Rule {
  return (value, field) =>
    Array.isArray(value) && value.length === 0
      ? [{ field, expected: 'a non-empty list', got: '[]' }]
      : list(item)(value, field);
}

/** One of several shapes, selected by the value of one field. */
export function variant(tag: string, shapes: Readonly<Record<string, Rule>>): Rule {
  return (value, field) => {
    const kind = isRecord(value) ? own(value, tag) : value;
    const shape = typeof kind === 'string' && Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
    if (shape !== undefined) return shape(value, field);
    return [
      { field: join(field, tag), expected: `one of ${Object.keys(shapes).join(', ')}`, got: show(kind) },
    ];
  };
}

export function nullable(check: Rule): Rule {
  return (value, field) => (value === null ? NONE : check(value, field));
}

export function optional(check: Rule): Rule {
  return (value, field) => (value === undefined ? NONE : check(value, field));
}

/** A value that fits one of the rules; `expected` describes them for people. */
export function anyOf(expected: string, rules: readonly Rule[]): Rule {
  return rule(expected, (value) => rules.some((check) => check(value, '').length === 0));
}

export function oneOf(values: readonly string[]): Rule {
  return rule(`one of ${values.join(', ')}`, (value) => typeof value === 'string' && values.includes(value));
}

export function whole(least: number): Rule {
  return rule(`a whole number >= ${least}`, (value) => Number.isSafeInteger(value) && Number(value) >= least);
}

export const flag: Rule = rule('true or false', (value) => typeof value === 'boolean');
export const nonBlank: Rule = rule(
  'a non-blank string',
  (value) => typeof value === 'string' && value.trim() !== '',
);
export const string: Rule = rule('a string', (value) => typeof value === 'string');

/** A string of limited length; control characters are allowed, except NUL, which no path and no argument can have. */
export function shortText(maxLength: number): Rule {
  return rule(
    `a string of at most ${maxLength} characters without NUL`,
    (value) => typeof value === 'string' && value.length <= maxLength && !value.includes('\0'),
  );
}

/** Milliseconds since 1970 that can be shown as a date. */
export const moment: Rule = rule(
  'a time in milliseconds since 1970',
  (value) => typeof value === 'number' && Math.abs(value) <= MAX_MOMENT,
);
const MAX_MOMENT = 8.64e15;

/** Whether a value fits a rule. */
export function fits(check: Rule, value: unknown): boolean {
  return check(value, '').length === 0;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How `show` shows a missing value. */
const ABSENT = 'nothing';

/** A value as shown in a message, at most 100 characters long. */
export function show(value: unknown): string {
  if (value === undefined) return ABSENT;
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  const shown = textOf(typeof value === 'string' ? value.slice(0, 200) : value);
  return shown.length > 100 ? `${shown.slice(0, 97)}...` : shown;
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    // Nested so deeply that it cannot be written.
    return Array.isArray(value) ? 'a list' : `an ${typeof value}`;
  }
}

/** A field of the value itself: not what every object inherits. */
function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function join(field: string, key: string): string {
  return field === '' ? key : `${field}.${key}`;
}
