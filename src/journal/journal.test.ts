import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LoopEvent } from '../loop/event.ts';
import { openJournal, readJournal } from './file.ts';
import { JournalError, type Journal } from './journal.ts';
import { memoryJournal } from '../../test/rig/memory-journal.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-journal-'));
  path = join(folder, 'loops', 'a', 'journal.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const event = (n: number): LoopEvent => ({ type: 'owner.changed', owner: `owner ${n} é😀\u2028"}`, at: n });
const events = (count: number): LoopEvent[] => Array.from({ length: count }, (_, n) => event(n));
const filled = (journal: Journal, count = 3): Journal => {
  for (const next of events(count)) journal.append(next, journal.length);
  return journal;
};
const read = (from: string): LoopEvent[] => {
  const found: LoopEvent[] = [];
  readJournal(from, { take: (next) => void found.push(next) });
  return found;
};
const trouble = (action: () => unknown): { reason: string; line: number | null } | null => {
  try {
    action();
    return null;
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    return { reason: error.reason, line: error.line };
  }
};

describe.each([
  ['in a file', () => ({ journal: openJournal(path), written: () => read(path) })],
  [
    'in memory',
    () => {
      const kept: LoopEvent[] = [];
      return { journal: memoryJournal(kept), written: () => kept };
    },
  ],
])('a journal %s', (_, open) => {
  it('returns the written events in order', () => {
    const { journal, written } = open();
    filled(journal);
    expect(written()).toEqual(events(3));
    expect(journal.length).toBe(3);
    journal.sync();
    journal.close();
  });

  it('rejects a writer that expects another number of events', () => {
    const journal = filled(open().journal);
    expect(trouble(() => journal.append(event(9), 2))).toEqual({ reason: 'fenced', line: null });
    expect(trouble(() => journal.append(event(9), 4))?.reason).toBe('fenced');
    expect(journal.length).toBe(3);
    journal.close();
  });
});

describe('a journal file', () => {
  const close = (journal: Journal): void => journal.close();

  it('can be opened again and continued', () => {
    close(filled(openJournal(path)));
    const found: LoopEvent[] = [];
    const again = openJournal(path, { take: (next) => void found.push(next) });
    expect(found).toEqual(events(3));
    again.append(event(3), 3);
    close(again);
    expect(read(path)).toEqual(events(4));
  });

  it('loses only a torn last line, wherever it was torn', () => {
    close(filled(openJournal(path)));
    const whole = readFileSync(path);
    const secondEnds = whole.lastIndexOf(10, whole.length - 2) + 1;
    for (let size = secondEnds; size < whole.length; size++) {
      writeFileSync(path, whole.subarray(0, size));
      expect(read(path)).toEqual(events(2));
      expect(statSync(path).size).toBe(size);
      const journal = openJournal(path);
      journal.append(event(2), 2);
      close(journal);
      expect(readFileSync(path)).toEqual(whole);
    }
  });

  it('reports damage in the middle with its line number and changes nothing', () => {
    close(filled(openJournal(path)));
    const lines = readFileSync(path, 'utf8').split('\n');
    const damaged = [
      ...lines.slice(0, 2),
      (lines[2] ?? '').replace('owner 1', 'owner 7'),
      ...lines.slice(3),
    ].join('\n');
    writeFileSync(path, damaged);
    expect(trouble(() => openJournal(path))).toEqual({ reason: 'damaged', line: 3 });
    expect(readFileSync(path, 'utf8')).toBe(damaged);
  });

  it('reports a missing line and a duplicate line', () => {
    close(filled(openJournal(path)));
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    writeFileSync(path, `${[lines[0], lines[1], lines[3]].join('\n')}\n${lines[3]}\n`);
    expect(trouble(() => openJournal(path))).toEqual({ reason: 'damaged', line: 3 });
  });

  it.each([1, 3])('rejects a journal of version %i, and says what was found and expected', (version) => {
    close(openJournal(path));
    writeFileSync(path, `{"journal":${version}}\n`);
    expect(trouble(() => openJournal(path))).toEqual({ reason: 'version', line: 1 });
    expect(() => openJournal(path)).toThrow(
      `${path} has journal version ${version}, but this version of ralph reads only version 2; use the version of ralph that wrote it`,
    );
  });

  it('rejects an event after another process has written', () => {
    const journal = filled(openJournal(path));
    appendFileSync(path, 'x');
    expect(trouble(() => journal.append(event(3), 3))?.reason).toBe('fenced');
    close(journal);
  });

  it('is written again after its folder was removed', () => {
    const journal = filled(openJournal(path));
    rmSync(join(folder, 'loops'), { recursive: true });
    journal.append(event(3), 3);
    journal.append(event(4), 4);
    close(journal);
    expect(existsSync(path)).toBe(true);
    expect(read(path)).toEqual(events(5));
  });

  it('does not overwrite the new journal of another owner after its folder was removed', () => {
    const journal = filled(openJournal(path));
    rmSync(join(folder, 'loops'), { recursive: true });
    close(filled(openJournal(path), 1));
    expect(trouble(() => journal.append(event(3), 3))?.reason).toBe('fenced');
    close(journal);
    expect(read(path)).toEqual(events(1));
    // The old events are kept under another name.
    const [, kept = ''] = readdirSync(join(folder, 'loops', 'a')).toSorted();
    expect(kept).toMatch(/^journal\.jsonl\.intact-/);
    expect(read(join(folder, 'loops', 'a', kept))).toEqual(events(3));
  });

  it('is restored by `verify`, unless another process owns the loop now', () => {
    let isOwner = true;
    let restored = 0;
    const journal = filled(
      openJournal(path, undefined, { mayRestore: () => isOwner, restored: () => void restored++ }),
    );
    journal.verify();
    expect(restored).toBe(0);
    rmSync(join(folder, 'loops'), { recursive: true });
    journal.verify();
    expect(restored).toBe(1);
    expect(read(path)).toEqual(events(3));
    rmSync(join(folder, 'loops'), { recursive: true });
    isOwner = false;
    expect(trouble(() => journal.verify())?.reason).toBe('fenced');
    close(journal);
    expect(existsSync(path)).toBe(false);
  });

  it('starts again if even the header is incomplete', () => {
    close(openJournal(path));
    truncateSync(path, 5);
    close(filled(openJournal(path)));
    expect(read(path)).toEqual(events(3));
  });
});
