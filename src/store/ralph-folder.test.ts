import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { prepareFolder, writeSettings } from './ralph-folder.ts';

let workspace: string;
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'ralph-folder-'));
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));
const at = (file: string): string => join(workspace, '.ralph', file);
const read = (file: string): string => readFileSync(at(file), 'utf8');

it('excludes everything but the shared settings from git', () => {
  prepareFolder(workspace);
  expect(read('.gitignore')).toBe('*\n!settings.json\n');
  prepareFolder(workspace);
  expect(readdirSync(at('.'))).toEqual(['.gitignore']);
});

it('keeps a .gitignore that the user wrote', () => {
  mkdirSync(at('.'));
  writeFileSync(at('.gitignore'), 'loops\n');
  prepareFolder(workspace);
  expect(read('.gitignore')).toBe('loops\n');
});

it('writes settings with an indent of two and a final newline, and backs up earlier ones', () => {
  expect(writeSettings(workspace, { maxFailures: 3 })).toEqual({ backup: null });
  expect(read('settings.json')).toBe('{\n  "maxFailures": 3\n}\n');
  expect(writeSettings(workspace, { maxFailures: 4 })).toEqual({ backup: '.ralph/settings.json.bak' });
  expect(read('settings.json')).toContain('4');
  expect(read('settings.json.bak')).toBe('{\n  "maxFailures": 3\n}\n');
});

it('S2.25 says which file cannot be written, and why', () => {
  writeFileSync(at('.'), 'a file in the way');
  expect(() => writeSettings(workspace, {})).toThrow(
    `cannot write .ralph/settings.json: ${join(workspace, '.ralph')} is not a folder`,
  );
  expect(readFileSync(at('.'), 'utf8')).toBe('a file in the way');
});
