import { expect, it } from 'vitest';
import { pageOnTerminal } from './page.ts';

const PAGE = `<!-- Made by \`npm run docs\`. Do not edit. -->

# The title

A paragraph with **bold words**, \`code_with_underscores\` and a link to
[what ends a loop](limits.md#more), [here](https://example.com) and [claims.md](claims.md).

- one item that is long enough for
  a second line
  1. a nested one

\`\`\`sh
ralph run "a task that is longer than the width" --check true
| no table
\`\`\`

| option    | meaning                     |
| --------- | --------------------------- |
| \`a \\| b\` | a cell that does not fit in |
`;

it('a page fits the width of the terminal, and its code stays as it is', () => {
  expect(pageOnTerminal(PAGE, { width: 32, bold: (text) => text.toUpperCase() })).toBe(`THE TITLE

A paragraph with bold words,
\`code_with_underscores\` and a
link to what ends a loop
[limits], here and claims.md.

- one item that is long enough
  for a second line
  1. a nested one

  ralph run "a task that is longer than the width" --check true
  | no table

OPTION   MEANING
\`a | b\`  a cell that does not
         fit in
`);
});
