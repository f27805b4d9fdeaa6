import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JournalError } from '../journal/journal.ts';
import { journalProblem, putBack } from './journal-problem.ts';

let folder: string;
let journal: string;
beforeEach(() => {
  // A shell takes this name for several words.
  folder = mkdtempSync(join(tmpdir(), "ralph's copies "));
  journal = join(folder, 'journal.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the command that puts back an intact copy', () => {
  it.each([
    ['a file', () => writeFileSync(journal, 'theirs')],
    [
      'a folder with files',
      () => {
        mkdirSync(journal);
        writeFileSync(join(journal, 'a'), 'theirs');
      },
    ],
    ['a link', () => symlinkSync('/nowhere', journal)],
    ['nothing', () => {}],
  ])('works where %s is in its place, and takes the last copy', (_, make) => {
    make();
    writeFileSync(`${journal}.intact-2026-01-01T00-00-00-000Z`, 'older');
    writeFileSync(`${journal}.intact-2026-01-02T00-00-00-000Z`, 'ours');
    execFileSync('/bin/sh', ['-c', putBack(journal) ?? 'false'], { stdio: ['ignore', 'pipe', 'pipe'] });
    expect(readFileSync(journal, 'utf8')).toBe('ours');
    expect(readdirSync(folder)).toHaveLength(2);
  });

  it('is null without a copy', () => {
    writeFileSync(journal, 'ours');
    expect(putBack(journal)).toBeNull();
  });
});

describe('what is said about a journal that cannot be used', () => {
  const about = (error: unknown, owner: number | null = null) =>
    journalProblem({ journal, name: 'it' }, error, owner);

  it('is nothing if it can be read and no intact copy lies beside it', () => {
    expect(about(null)).toBeNull();
  });

  it('advises to wait as long as its owner runs: it is about to end, and keeps a copy', () => {
    writeFileSync(`${journal}.intact-2026-01-01T00-00-00-000Z`, 'ours');
    const damaged = new JournalError('damaged', `${journal}:2: this line is damaged`);
    expect(about(damaged, 7)).toEqual({
      message: `${journal}:2: this line is damaged; its owner (process 7) still runs; wait for its end with: ralph wait it`,
      remedy: 'ralph wait it',
    });
    expect(about(null, 7)).toBeNull();
  });

  it('names no command for a journal of another version', () => {
    const other = new JournalError('version', `${journal} has journal version 1`);
    expect(about(other)).toEqual({ message: other.message, remedy: null });
  });
});
