import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { otherRalph } from './ralph-on-path.ts';

const HERE = fileURLToPath(new URL('../../', import.meta.url));

let folder: string;
let bin: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-path-')));
  bin = join(folder, 'bin');
  mkdirSync(bin);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o755 });
  return file;
}

const link = (target: string): void => symlinkSync(target, join(bin, 'ralph'));
const found = () => otherRalph(`${join(folder, 'none')}:${bin}`, folder);
const path = (): string => join(bin, 'ralph');

it('no other ralph is found where there is none, or where it is this one', () => {
  expect(found()).toBeNull();
  link(join(HERE, 'dist', 'cli', 'main.js'));
  expect(found()).toBeNull();
});

it('a link to another package names it, and its version if it has one', () => {
  write(
    'lib/node_modules/@a/ralph/package.json',
    '{"name": "@a/ralph", "version": "1.2.3", "bin": "cli.js"}',
  );
  link(write('lib/node_modules/@a/ralph/cli.js', ''));
  expect(found()).toEqual({ path: path(), owner: '@a/ralph 1.2.3' });
  write('lib/node_modules/@a/ralph/package.json', '{"name": "it", "bin": {"ralph": "cli.js"}}');
  expect(found()).toEqual({ path: path(), owner: 'it' });
  write('lib/node_modules/@a/ralph/package.json', '{"name": "ralph-until-done", "version": "0.1.0"}');
  expect(found()).toBeNull();
});

it('a script that starts a file of a package names that package', () => {
  write('bin/ralph', 'exec node "$basedir/global/5/node_modules/.pnpm/x/node_modules/other/cli.js" "$@"\n');
  expect(found()).toEqual({ path: path(), owner: 'other' });
  write('bin/ralph', 'exec node "$basedir/global/5/node_modules/ralph-until-done/dist/cli/main.js" "$@"\n');
  expect(found()).toBeNull();
});

it('a program in a project of another purpose belongs to no package', () => {
  write('package.json', '{"name": "project", "bin": {"build": "build.js"}}');
  link(write('venv/bin/ralph', '#!/usr/bin/python3\n'));
  expect(found()).toEqual({ path: path(), owner: null });
});
