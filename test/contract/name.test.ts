import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { FORMER, PACKAGE } from '../../src/package-name.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const text = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

it('the package, both marketplaces and the lock file have the name that the code uses', () => {
  const named = [
    'package.json',
    'package-lock.json',
    '.claude-plugin/marketplace.json',
    '.agents/plugins/marketplace.json',
  ];
  for (const file of named) expect(JSON.parse(text(file))).toMatchObject({ name: PACKAGE });
});

/** What keeps the former name, because a document prescribes it or because running loops are found by it. */
const KEPT: readonly RegExp[] = [
  // Documents 002 and 004.
  /\barchitect\/ralph-loop\b/g,
  /\bralph-loop-state\.json\b/g,
  /\[ralph-loop\\?\]/g,
  /\bralph-loop-mode\b/g,
  /(?<=')\/ralph-loop x/g,
  /(?<=`)\/ralph-loop(?=`)/g,
  /\bralph-loop\.local\.md\b/g,
  /\bHOOK_NAME\b.*\bralph-loop\b/g,
  /(?:name: |unregister\()'ralph-loop'/g,
  /\bralph-loop \(document 004\)/g,
  // Windows that a Ralph of the former name has opened, and its plugin in the same process.
  /(?<!\w)@ralph-loop\b/g,
  /'ralph-loop\.opencode'/g,
  // The files of the class `RalphLoop`.
  /\/ralph-loop\.ts\b/g,
];

/** Files that say what becomes of things with the former name. */
const ABOUT_IT: ReadonlySet<string> = new Set([
  '.changeset/publishable-name.md',
  'CHANGELOG.md',
  'docs/background.md',
  'docs/contract.md',
  'docs/in-session.md',
  'docs/install.md',
  'src/background/launchd.test.ts',
  'src/package-name.ts',
  'src/programs/install.test.ts',
  'test/contract/name.test.ts',
  'test/e2e/packed.test.ts',
]);

it('no other text has the former name, which belongs to another package', () => {
  const tracked = execFileSync('git', ['grep', '--files-with-matches', FORMER], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const strays = tracked
    .split('\n')
    .filter((file) => file !== '' && !ABOUT_IT.has(file))
    .flatMap((file) =>
      text(file)
        .split('\n')
        .map((line, index) => [`${file}:${index + 1}`, line] as const),
    )
    .filter(([, line]) => KEPT.reduce((rest, one) => rest.replaceAll(one, ''), line).includes(FORMER))
    .map(([where]) => where);
  expect(strays).toEqual([]);
});
