/** Rules for the shape of a plain value; `validate.ts` combines them. */

/** What is wrong with one field: its name, the expected value and the value found. */
export interface Problem {
  readonly field: string;
  readonly expected: string;
  readonly got: string;
  /** The field itself is unknown. */
  readonly isUnknown?: true;
}

export type Rule = (value: unknown, field: string) => readonly Problem[];

export function rule(expected: string, holds: (value: unknown) => boolean): Rule {
  return (value, field) => (holds(value) ? [] : [{ field, expected, got: show(value) }]);
}

export function object(fields: Readonly<Record<string, Rule>>): Rule {
  return (value, field) => {
    if (!isRecord(value)) return [{ field, expected: 'an object', got: show(value) }];
    const unknown = Object.keys(value).filter((key) => !(key in fields));
    return [
      ...unknown.map((key) => {
        const known = Object.keys(fields).join(', ');
        return {
          field: join(field, key),
          expected: `one of ${known}`,
          got: show(value[key]),
          isUnknown: true as const,
        };
      }),
      ...Object.entries(fields).flatMap(([key, check]) => check(value[key], join(field, key))),
    ];
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
    const kind = isRecord(value) ? value[tag] : value;
    const shape = typeof kind === 'string' && Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
    if (shape !== undefined) return shape(value, field);
    return [
      { field: join(field, tag), expected: `one of ${Object.keys(shapes).join(', ')}`, got: show(kind) },
    ];
  };
}

export function nullable(check: Rule): Rule {
  return (value, field) => (value === null ? [] : check(value, field));
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

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How `show` shows a missing value. */
export const ABSENT = 'nothing';

/** A value as shown in a message, at most 100 characters long. */
export function show(value: unknown): string {
  if (value === undefined) return ABSENT;
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  const shown = JSON.stringify(value) ?? typeof value;
  return shown.length > 100 ? `${shown.slice(0, 97)}...` : shown;
}

function join(field: string, key: string): string {
  return field === '' ? key : `${field}.${key}`;
}
