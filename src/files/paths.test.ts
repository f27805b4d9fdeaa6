import { vanishing } from './vanishing.ts';
import { expect, it } from 'vitest';

it.each([
  ['/home/me/.npm/_npx/1f2e/node_modules/ralph-until-done/dist/cli/main.js', true],
  ['/home/me/.cache/pnpm/dlx/1f2e/node_modules/ralph-until-done/dist/cli/main.js', true],
  ['/tmp/x/main.js', true],
  ['/usr/lib/node_modules/ralph-until-done/dist/cli/main.js', false],
  ['/home/me/tmp/npx/main.js', false],
])('%s is in a place that something else empties: %s', (path, expected) => {
  expect(vanishing(['/usr/bin/node', path])).toBe(expected ? path : null);
});
