import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PRESET_NAMES } from '../../src/loop/policy.ts';

const source = new URL('../../src/', import.meta.url);
const others = `['"\`](?:${PRESET_NAMES.filter((name) => name !== 'default').join('|')})['"\`]`;

/** `default` is also an ordinary word, so it counts only beside a preset. */
const COMPARISON = new RegExp(
  [
    `[!=]==?\\s*${others}`,
    `${others}\\s*[!=]==?`,
    `\\bcase\\s+${others}`,
    `\\bincludes\\(\\s*${others}`,
    `[Pp]reset\\w*\\s*[!=]==?\\s*['"\`]default['"\`]`,
  ].join('|'),
  'g',
);

it('no code outside of the presets compares with the name of a preset', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && file !== 'loop/presets.ts',
  );
  expect(files.length).toBeGreaterThan(100);
  const found = files.flatMap((file) => {
    const text = readFileSync(new URL(file, source), 'utf8');
    return [...text.matchAll(COMPARISON)].map(
      ({ 0: match, index }) => `src/${file}:${text.slice(0, index).split('\n').length} ${match}`,
    );
  });
  expect(found).toEqual([]);
});

it.each([
  "if (policy.preset === 'swarm') return [];",
  "if ('conductor' !== preset) return;",
  "return state.policy.preset ===\n  'architect'",
  "    case 'ralph-cli':",
  "const placement = base.preset === 'default' ? 'own-line' : 'anywhere';",
])('a comparison like %j would be found', (code) => {
  expect(code.match(COMPARISON)).toHaveLength(1);
});
