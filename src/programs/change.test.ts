import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { backupsOf, ChangedMeanwhile, make, type Change } from './change.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-change-'));
  writeFileSync(join(folder, 'a'), 'one');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const NOW = new Date('2026-01-02T03:04:05.678Z');
const change = (name: string, before: string | null, after: string | null): Change => ({
  path: join(folder, name),
  before,
  after,
  backup: true,
});

it('writes, creates and removes files, and keeps copies of what was there', () => {
  make([change('a', 'one', 'two'), change('b/c', null, 'new')], [folder], NOW);
  expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('two');
  expect(readFileSync(join(folder, 'b/c'), 'utf8')).toBe('new');
  expect(readdirSync(folder)).toEqual(['a', 'a.ralph-backup-20260102T030405-678Z', 'b']);
  make([change('a', 'two', null)], [folder], NOW);
  expect(existsSync(join(folder, 'a'))).toBe(false);
  expect(backupsOf(join(folder, 'a')).map((path) => readFileSync(path, 'utf8'))).toEqual(['two', 'one']);
});

it('puts everything back if a file has changed since it was read', () => {
  const before = readdirSync(folder);
  const changes = [change('a', 'one', 'two'), change('b', null, 'new'), change('c', 'was here', 'three')];
  expect(() => make(changes, [folder], NOW)).toThrow(ChangedMeanwhile);
  expect(readdirSync(folder)).toEqual(before);
  expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('one');
});

it('puts everything back if a file cannot be written, and says why', () => {
  const before = readdirSync(folder);
  const changes = [change('a', 'one', 'two'), change('x'.repeat(300), null, 'new')];
  expect(() => make(changes, [folder], NOW)).toThrow(/x+: name too long; nothing was changed$/);
  expect(readdirSync(folder)).toEqual(before);
  expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('one');
});
