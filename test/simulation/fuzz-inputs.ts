/** Contents for files that another process may have written: random ones, and valid ones with random changes. */
import * as fc from 'fast-check';

/** Random bytes, random JSON, and mutations of a valid content. */
export function contents(sample: string): fc.Arbitrary<Buffer> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.json({ maxDepth: 3 }).map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD_TEXTS).map((text) => Buffer.from(text)) },
    { weight: 4, arbitrary: mutatedBytes(Buffer.from(sample)) },
    { weight: 8, arbitrary: mutatedJson(sample) },
  );
}

/** A content with flipped bytes, cut, doubled, or with something inserted. */
export function mutatedBytes(sample: Buffer): fc.Arbitrary<Buffer> {
  const at = fc.nat({ max: Math.max(0, sample.length - 1) });
  const mutation = fc.oneof(
    fc.tuple(at, fc.nat({ max: 255 })).map(([place, byte]) => (content: Buffer): Buffer => {
      const changed = Buffer.from(content);
      if (place < changed.length) changed[place] = byte;
      return changed;
    }),
    at.map(
      (place) =>
        (content: Buffer): Buffer =>
          content.subarray(0, place),
    ),
    at.map(
      (place) =>
        (content: Buffer): Buffer =>
          Buffer.concat([content, content.subarray(place)]),
    ),
    fc.tuple(at, fc.constantFrom(...SNIPPETS)).map(
      ([place, snippet]) =>
        (content: Buffer): Buffer =>
          Buffer.concat([content.subarray(0, place), Buffer.from(snippet), content.subarray(place)]),
    ),
  );
  return fc
    .array(mutation, { minLength: 1, maxLength: 3 })
    .map((mutations) => mutations.reduce((content, mutate) => mutate(content), sample));
}

/** A text with a value in every line, of which one has values, at any depth, that are odd, missing or of another type. */
function mutatedJson(sample: string): fc.Arbitrary<Buffer> {
  const lines = sample.split('\n');
  const values = lines.flatMap((line, index) =>
    isJson(line) ? [{ index, value: JSON.parse(line) as unknown }] : [],
  );
  if (values.length === 0) return mutatedBytes(Buffer.from(sample));
  return fc
    .constantFrom(...values)
    .chain(({ index, value }) =>
      mutatedValue(value).map((text) => Buffer.from(lines.with(index, text).join('\n'))),
    );
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** As text, because some odd values (`1e999`) exist only in it. */
export function mutatedValue(value: unknown): fc.Arbitrary<string> {
  const places = placesIn(value);
  const change = fc.tuple(fc.nat({ max: places.length - 1 }), fc.constantFrom(...ODD_VALUES, REMOVED));
  return fc.array(change, { minLength: 1, maxLength: 2 }).map((changes) => {
    const odd = new Map(changes.map(([place, text]) => [places[place] ?? '', text]));
    return textOf(value, odd, '') ?? 'null';
  });
}

/** The places in a value, as paths; an extra place in every object stands for an unknown field. */
function placesIn(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inside = Object.entries(value).flatMap(([key, part]) => placesIn(part, `${path}/${key}`));
  return [path, ...inside, `${path}/__proto__`];
}

function textOf(value: unknown, odd: ReadonlyMap<string, string>, path: string): string | null {
  const replaced = odd.get(path);
  if (replaced !== undefined) return replaced === REMOVED ? null : replaced;
  if (Array.isArray(value))
    return `[${value.map((part: unknown, index) => textOf(part, odd, `${path}/${index}`) ?? 'null').join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? null;
  const extra = odd.get(`${path}/__proto__`);
  const fields = Object.entries(value).flatMap(([key, part]) => {
    const text = textOf(part, odd, `${path}/${key}`);
    return text === null ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  if (extra !== undefined && extra !== REMOVED) fields.push(`"__proto__":${extra}`);
  return `{${fields.join()}}`;
}

const REMOVED = 'removed';

const DEEP = `${'['.repeat(1000)}${']'.repeat(1000)}`;

const ODD_VALUES = [
  'null',
  'true',
  'false',
  '0',
  '-1',
  '1',
  '0.5',
  '256',
  '1e999',
  '-1e999',
  '1e300',
  '9007199254740993',
  '""',
  '"x"',
  '"\\u0000"',
  '"\\ud800"',
  '"../../../etc/passwd"',
  '"--output=/tmp/x"',
  '"-1"',
  '"/"',
  `"${'x'.repeat(1001)}"`,
  '[]',
  '[null]',
  '["tell"]',
  '{}',
  '{"__proto__":{"isAdmin":true}}',
  '{"constructor":{"prototype":{}}}',
  '{"toString":1,"length":-1}',
  DEEP,
] as const;

const SNIPPETS = [
  '\0',
  '\0\0\0\0',
  '\n',
  '}',
  '"',
  '\\',
  '__proto__',
  '\u{1f600}',
  '1e999',
  '\n\n{}\n',
] as const;

const ODD_TEXTS = [
  '',
  '\n',
  '\0',
  '{',
  '[',
  '""',
  'null',
  '{}',
  '[]',
  '0',
  'NaN',
  '{"__proto__":null}',
  DEEP,
] as const;
