/** The schema of the settings files, made from the table. Loaded only to validate a file, since zod is large. */
import * as z from 'zod';
import { NOTICE_KINDS } from '../loop/notice.ts';
import { CHOICES, type Kinds, type Row, type Rows, ROWS, sentences } from './rows.ts';
import { DURATION, SIZE, VARIABLE } from './values.ts';

/** An invalid value with its path and a sentence that starts with `must`, or an unknown key. */
export type SchemaProblem =
  | { readonly path: string; readonly must: string; readonly value: unknown }
  | { readonly path: string; readonly unknown: string; readonly known: readonly string[] };

/** Everything that is wrong with the content of a file, whose aliases are already resolved. */
export function findSchemaProblems(content: unknown): readonly SchemaProblem[] {
  const result = SETTINGS.safeParse(content);
  if (result.success) return [];
  return result.error.issues.flatMap((issue): SchemaProblem[] => {
    const path = pathOf(issue.path);
    if (issue.code !== 'unrecognized_keys')
      return [{ path, must: issue.message, value: valueAt(content, issue.path) }];
    const known = keysOf(issue.path);
    return issue.keys.map((key) => ({ path: path === '' ? key : `${path}.${key}`, unknown: key, known }));
  });
}

/** The schema for editors, with the aliases as deprecated keys. */
export function jsonSchema(): Readonly<Record<string, unknown>> {
  const schema = z.toJSONSchema(SETTINGS, { target: 'draft-7' });
  addSecondForms(schema, ROWS, '#');
  return schema;
}

/** A file may have either name of a setting, not both, and a text in the place of some objects. */
function addSecondForms(schema: z.core.JSONSchema.BaseSchema, rows: Rows, at: string): void {
  const properties = { ...schema.properties };
  schema.properties = properties;
  for (const [name, { alias, parts, short }] of Object.entries(rows)) {
    const place = `${at}/properties/${name}`;
    const own = properties[name];
    const items = typeof own === 'object' ? own.items : undefined;
    if (parts !== undefined && typeof items === 'object' && !Array.isArray(items)) {
      addSecondForms(items, parts, short === undefined ? `${place}/items` : `${place}/items/anyOf/1`);
      if (short !== undefined && typeof own === 'object')
        own.items = {
          anyOf: [{ type: 'string', description: `The same as an object with this \`${short}\`.` }, items],
        };
    }
    if (alias === undefined) continue;
    // In draft 7 a `$ref` hides the keys beside it, so it goes into an `allOf`.
    properties[alias] = { allOf: [{ $ref: place }], description: `Alias of \`${name}\`.`, deprecated: true };
    schema.allOf = [...(schema.allOf ?? []), { not: { required: [alias, name] } }];
  }
}

const TEXT = 'a string';
const NO_NUL = 'must be a string without NUL characters';
/** A program cannot receive NUL in an argument. */
const anyText = (params: Parameters<typeof z.string>[0] = { error: 'must be a string' }): z.ZodString =>
  z.string(params).refine((value) => !value.includes('\0'), NO_NUL);
const whole = (min: number, must: string): z.ZodNumber => z.int({ error: must }).min(min, must);
const text = (must = 'must not be empty'): z.ZodString =>
  anyText({ error: ({ input }) => (input === undefined ? must : 'must be a string') }).regex(/\S/, must);
const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values, must?: string) =>
  z.enum(values, { error: must ?? `must be one of ${values.join(', ')}` });
const fields = <Shape extends z.ZodRawShape>(shape: Shape, must = 'must be an object') =>
  z.strictObject(shape, { error: (issue) => (issue.code === 'invalid_type' ? must : undefined) });

const A_TIME = 'must be a time such as 90, "90s", "15m" or "2h"';
/** A thousand years. */
const MAX_SECONDS = 3.2e10;
const A_SIZE = 'must be a size such as 1000, "500k", "20m" or "1g"';
const AN_AMOUNT = 'must be an amount of dollars > 0';
const time = z.union(
  [z.number().min(0, A_TIME).max(MAX_SECONDS, A_TIME), z.string().regex(DURATION, A_TIME)],
  {
    error: A_TIME,
  },
);
const positive = whole(1, 'must be a positive integer');

const KINDS: { readonly [Kind in keyof Kinds]: z.ZodType<Kinds[Kind]> } = {
  text: text(),
  'any-text': anyText(),
  variable: z
    .string({ error: 'must be a string' })
    .regex(VARIABLE, 'must be the name of an environment variable'),
  'yes-no': z.boolean({ error: 'must be true or false' }),
  'file-or-false': z.union([text(), z.literal(false)], { error: 'must be the path of a plan, or false' }),
  whole: whole(0, 'must be a whole number >= 0'),
  count: positive,
  iterations: positive,
  amount: z.number({ error: AN_AMOUNT }).gt(0, AN_AMOUNT),
  time,
  timeout: time,
  size: z.union([z.int(A_SIZE).min(1, A_SIZE), z.string().regex(SIZE, A_SIZE)], { error: A_SIZE }),
  preset: oneOf(CHOICES.preset),
  until: oneOf(CHOICES.until),
  'protected-change': oneOf(CHOICES['protected-change']),
  'fail-action': oneOf(CHOICES['fail-action'], 'must be APPEND, PREPEND, or REPLACE'),
  'prompt-way': oneOf(CHOICES['prompt-way']),
  'notice-kind': oneOf(CHOICES['notice-kind']),
  'notice-commands': fields(
    Object.fromEntries(
      NOTICE_KINDS.map((kind) => [
        kind,
        text().optional().describe(`Shell command, run with a notice of \`${kind}\` (docs/notices.md).`),
      ]),
    ),
  ),
  'mcp-change': oneOf(CHOICES['mcp-change']),
};

const SETTINGS = object(ROWS);

function object(rows: Rows, must?: string): z.ZodType {
  return fields(Object.fromEntries(Object.entries(rows).map(([key, row]) => [key, valueOf(row)])), must);
}

function valueOf(row: Row): z.ZodType {
  const byDefault = row.byDefault === undefined ? '' : ` Default: ${row.byDefault}.`;
  const item = itemOf(row);
  const found = row.list === undefined ? item : z.array(item, { error: `must be a list of ${row.list}` });
  return (row.required === true ? found : found.optional()).describe(`${sentences(row)}${byDefault}`);
}

function itemOf({ type, parts, short }: Row): z.ZodType {
  if (type === undefined)
    return object(parts ?? {}, short === undefined ? undefined : `must be ${TEXT} or an object`);
  if (parts === undefined) return KINDS[type];
  const error = `must be ${type === 'yes-no' ? 'true, false' : TEXT} or an object`;
  return z.union([KINDS[type], object(parts)], { error });
}

/** `checks[0].command`. */
function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (place, part) =>
      typeof part === 'number'
        ? `${place}[${part}]`
        : place === ''
          ? String(part)
          : `${place}.${String(part)}`,
    '',
  );
}

function valueAt(content: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (found, part): unknown =>
      typeof found === 'object' && found !== null ? Reflect.get(found, part) : undefined,
    content,
  );
}

/** The known keys of the object at this path. */
function keysOf(path: readonly PropertyKey[]): readonly string[] {
  const names = path.filter((part) => typeof part === 'string');
  const last = names.reduce<Row | undefined>((row, name) => row?.parts?.[name], { says: '', parts: ROWS });
  return last?.type === 'notice-commands' ? NOTICE_KINDS : Object.keys(last?.parts ?? {});
}
