import {
  appendFileSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LoopEvent } from '../loop/event.ts';
import { openJournal, readJournal, type FileJournal } from './file.ts';
import { JournalError } from './journal.ts';
import { intactCopy } from './own-copy.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-own-copy-'));
  path = join(folder, 'journal.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const event = (n: number): LoopEvent => ({ type: 'owner.changed', owner: `owner ${n}`, at: n });
const events = (count: number): LoopEvent[] => Array.from({ length: count }, (_, n) => event(n));

function filled(count: number, options?: { readonly keepsCopy: boolean }): FileJournal {
  const journal = openJournal(path, undefined, undefined, options);
  while (journal.length < count) journal.append(event(journal.length), journal.length);
  return journal;
}

function read(file: string = path): readonly LoopEvent[] {
  const found: LoopEvent[] = [];
  readJournal(file, { take: (next) => void found.push(next) });
  return found;
}

function lossOf(use: () => void): string {
  try {
    use();
  } catch (error) {
    if (error instanceof JournalError && error.reason === 'fenced') return error.message;
    throw error;
  }
  return 'not lost';
}

/** Writes into the file as it is, so that neither its size nor its inode changes. */
function overwrite(offset: number, text: string): void {
  const descriptor = openSync(path, 'r+');
  writeSync(descriptor, text, offset);
  closeSync(descriptor);
  // The owner's last write may have been within the same tick of the clock.
  utimesSync(path, 1, 1);
}

const CHANGES: Readonly<Record<string, readonly [what: string, change: () => void]>> = {
  'replaced by another file': [
    'replaced',
    () => {
      writeFileSync(`${path}.new`, 'hello\n');
      renameSync(`${path}.new`, path);
    },
  ],
  'replaced by a copy of an earlier journal': [
    'replaced',
    () => {
      copyFileSync(path, `${path}.new`);
      truncateSync(`${path}.new`, 20);
      renameSync(`${path}.new`, path);
    },
  ],
  'replaced by a folder': [
    'replaced',
    () => {
      rmSync(path);
      mkdirSync(path);
    },
  ],
  'replaced by a link that leads nowhere': [
    'replaced',
    () => {
      rmSync(path);
      symlinkSync('/nowhere', path);
    },
  ],
  emptied: ['changed', () => truncateSync(path, 0)],
  'cut in the middle of a line': ['changed', () => truncateSync(path, 100)],
  'written anew in place': ['changed', () => writeFileSync(path, 'hello\n')],
  'longer than it was': ['changed', () => appendFileSync(path, 'x\n')],
  'overwritten in place, as long as before': ['changed', () => overwrite(30, 'zzzz')],
  'emptied and removed': [
    'changed',
    () => {
      truncateSync(path, 0);
      rmSync(path);
    },
  ],
};

describe.each(Object.entries(CHANGES))('a journal that another process has %s', (_, [what, change]) => {
  it.each([
    ['the next event', (journal: FileJournal) => journal.append(event(600), 600)],
    ['verify', (journal: FileJournal) => journal.verify()],
  ])('is noticed by %s, and the whole journal is kept beside it', (__, use) => {
    // More than the owner collects before it writes its copy.
    const journal = filled(600);
    journal.sync();
    change();
    const message = lossOf(() => use(journal));
    expect(message).toContain(`cannot write ${path}: another process has ${what} it; an intact copy`);
    // Its present file must not be taken for what a snapshot was made from.
    expect(journal.mark.stamp).toBeUndefined();
    journal.close();

    const kept = intactCopy(path) ?? '';
    expect(message.endsWith(` is ${kept}`)).toBe(true);
    rmSync(path, { recursive: true, force: true });
    renameSync(kept, path);
    expect(read()).toEqual(events(600));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(intactCopy(path)).toBeNull();
    filled(601).close();
    expect(read()).toEqual(events(601));
  });
});

describe('an owner that took over', () => {
  it('has a copy of what earlier owners wrote', () => {
    filled(3).close();
    const journal = filled(5);
    truncateSync(path, 0);
    lossOf(() => journal.verify());
    journal.close();
    expect(read(intactCopy(path) ?? '')).toEqual(events(5));
  });

  it('leaves nothing behind', () => {
    filled(600).close();
    expect(readdirSync(folder)).toEqual(['journal.jsonl']);
  });

  it('goes on if only the times of the file changed', () => {
    const journal = filled(3);
    utimesSync(path, 1, 1);
    journal.append(event(3), 3);
    journal.close();
    expect(read()).toEqual(events(4));
  });

  it('notices with `verify` that its file has another name now, and writes it again', () => {
    const journal = filled(3);
    renameSync(path, `${path}.moved`);
    journal.verify();
    journal.append(event(3), 3);
    journal.close();
    expect(read()).toEqual(events(4));
  });

  it('notices with `verify` that another file has its name, although its own has one too', () => {
    const journal = filled(3);
    linkSync(path, `${path}.link`);
    writeFileSync(`${path}.new`, 'hello\n');
    renameSync(`${path}.new`, path);
    expect(lossOf(() => journal.verify())).toContain('another process has replaced it');
    journal.close();
    expect(read(intactCopy(path) ?? '')).toEqual(events(3));
  });
});

describe('an owner without a copy', () => {
  it('saves what another process has only added to or replaced', () => {
    const journal = filled(3, { keepsCopy: false });
    appendFileSync(path, 'x\n');
    expect(lossOf(() => journal.verify())).toContain('an intact copy of what its owner wrote is');
    journal.close();
    const [, kept = ''] = readdirSync(folder);
    expect(read(join(folder, kept))).toEqual(events(3));
  });

  it('says so if nothing intact is left', () => {
    const journal = filled(3, { keepsCopy: false });
    truncateSync(path, 50);
    expect(lossOf(() => journal.verify())).toContain(
      'an intact copy could not be kept: every copy of it was changed',
    );
    journal.close();
    expect(readFileSync(path)).toHaveLength(50);
    expect(readdirSync(folder)).toEqual(['journal.jsonl']);
  });
});
