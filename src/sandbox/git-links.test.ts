import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noteLinks, undoLinks } from './git-links.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-git-links-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a configuration that has changed during a run', () => {
  const core = '[core]\n\tbare = false\n';
  const remote = '[remote "origin"]\n\turl = /x\n';
  const follows = '[branch "a/b"]\n\tremote = origin\n\tmerge = refs/heads/a\n';
  const isPutBack = (before: string, now: string | null): boolean => {
    const folder = join(root, 'git');
    mkdirSync(folder, { recursive: true });
    const config = join(folder, 'config');
    writeFileSync(config, before);
    noteLinks(root, [folder]);
    if (now === null) rmSync(config);
    else writeFileSync(config, now);
    const aside: string[] = [];
    const { configurations } = undoLinks(root, (_, name) => aside.push(name));
    expect(readFileSync(config, 'utf8')).toBe(configurations.length > 0 ? before : now);
    expect(aside).toEqual(now === null ? [] : configurations);
    return configurations.length > 0;
  };

  it.each([
    ['nothing', core + remote],
    ['a branch at the end', core + remote + follows],
    ['a branch between others', core + follows + remote],
    [
      'a branch of the repository itself',
      `${core + remote}[branch "x"]\n\tremote = .\n\tmerge = refs/heads/y\n`,
    ],
    ['the note of a loop', `${core + remote}[branch "ralph/it"]\n\tralphLoop = 0-1\n\tralphKept = true\n`],
  ])('stays if it has more: %s', (_, now) => {
    expect(isPutBack(core + remote, now)).toBe(false);
    expect(isPutBack(now, core + remote)).toBe(false);
  });

  it.each([
    ['a program', `${core + remote}[core]\n\tfsmonitor = x\n`],
    ['a program after a branch', `${core + remote + follows}\tmergeOptions = -s x\n`],
    ['a remote without a name', `${core + remote}[branch "a"]\n\tremote = evil\n`],
    ['a remote of its own', `${core + remote}[remote "evil"]\n\turl = evil\n[branch "a"]\n\tremote = evil\n`],
    ['a branch that takes what follows', `[core]\n${follows}\tbare = false\n${remote}`],
    ['a branch with a comment', `${core + remote}[branch "a"]\n\tmerge = x # \\\n`],
    ['no file', null],
  ])('is put back if it has more: %s', (_, now) => {
    expect(isPutBack(core + remote, now)).toBe(true);
  });
});
