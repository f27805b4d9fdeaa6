import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/address.mjs', import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-address-'));
  execFileSync('git', ['init', '--quiet', folder]);
  for (const file of ['package.json', 'page.md'])
    writeFileSync(join(folder, file), `"see ${PLACEHOLDER}/issues and ${PLACEHOLDER}.git"\n`);
  writeFileSync(join(folder, 'other.md'), 'nothing\n');
  execFileSync('git', ['add', '.'], { cwd: folder });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const PLACEHOLDER = ['https://example', 'invalid/ralph-until-done'].join('.');

const address = (...args: readonly string[]) => {
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stderr };
};

it('a publication is refused while the placeholder stands for the address of the repository', () => {
  expect(address()).toEqual({
    status: 1,
    stderr: `cannot publish: the placeholder ${PLACEHOLDER} is still in package.json, page.md
Put in the address of the repository: npm run address -- https://HOST/OWNER/REPOSITORY
`,
  });
  expect(address('github.com/me/it')).toEqual({
    status: 2,
    stderr: 'expected an address like https://HOST/OWNER/REPOSITORY, found "github.com/me/it"\n',
  });
  expect(address('https://github.com/me/it.git')).toEqual({ status: 0, stderr: '' });
  expect(readFileSync(join(folder, 'page.md'), 'utf8')).toBe(
    '"see https://github.com/me/it/issues and https://github.com/me/it.git"\n',
  );
  expect(address()).toEqual({ status: 0, stderr: '' });
});
