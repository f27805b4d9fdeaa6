/** Small rules that say what a plain value must look like; `validate.ts` puts them together. */

/** What is wrong with one field: its name, what it should be and what it is. */
export interface Problem {
  readonly field: string;
  readonly expected: string;
  readonly got: string;
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
          expected: `one of the known fields (${known})`,
          got: show(value[key]),
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

/** A list with something in it. */
export function some(item: Rule): Rule {
  return (value, field) =>
    Array.isArray(value) && value.length === 0
      ? [{ field, expected: 'a list with something in it', got: '[]' }]
      : list(item)(value, field);
}

/** One of several shapes, told apart by the value of one field. */
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

export function orNone(check: Rule): Rule {
  return (value, field) => (value === null ? [] : check(value, field));
}

export function oneOf(values: readonly string[]): Rule {
  return rule(`one of ${values.join(', ')}`, (value) => typeof value === 'string' && values.includes(value));
}

export function whole(least: number): Rule {
  return rule(`a whole number >= ${least}`, (value) => Number.isSafeInteger(value) && Number(value) >= least);
}

export const yesOrNo: Rule = rule('true or false', (value) => typeof value === 'boolean');
export const text: Rule = rule(
  'a text that is not blank',
  (value) => typeof value === 'string' && value.trim() !== '',
);
export const anyText: Rule = rule('a text', (value) => typeof value === 'string');

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as a person would recognise it, never longer than a line. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  const shown = JSON.stringify(value) ?? typeof value;
  return shown.length > 100 ? `${shown.slice(0, 97)}...` : shown;
}

function join(field: string, key: string): string {
  return field === '' ? key : `${field}.${key}`;
}
