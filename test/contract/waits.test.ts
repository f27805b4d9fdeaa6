/** A test that waits without an end stops the whole run, and says nothing. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const filesIn = (folder: string): readonly string[] =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}${name}`);
const files = [
  ...filesIn('src/').filter((file) => file.endsWith('.test.ts')),
  ...filesIn('test/').filter((file) => file.endsWith('.ts')),
];

/** A loop that nothing counts, and that waits for something in its first lines. */
const ENDLESS = /^ *(?:while \(.*\)|for \(;;\)) (?:\{\n(?:.*\n){0,3}?)?.*\bawait /gm;

it('tests wait only with `until` and `inTime`, which have a deadline', () => {
  expect(files.length).toBeGreaterThan(400);
  const endless = files.flatMap((file) => {
    const found = readFileSync(new URL(file, root), 'utf8').match(ENDLESS) ?? [];
    return found.map((text) => `${file}: ${text.trim()}`);
  });
  expect(endless).toEqual([]);
});
