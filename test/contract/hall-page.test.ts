import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { withCounts } from '../../scripts/count-hall.mjs';

const page = new URL('../../docs/hall.md', import.meta.url);

it('docs/hall.md has the counts of now', () => {
  const text = readFileSync(page, 'utf8');
  const expected = withCounts(text);
  if (process.env['RALPH_WRITE_DOCS'] === '1') writeFileSync(page, expected);
  expect(readFileSync(page, 'utf8')).toBe(expected);
  expect(text).toMatch(/^\| prints below the fronts /m);
});
