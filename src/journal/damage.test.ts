import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../loop/default-policy.ts';
import type { LoopEvent } from '../loop/event.ts';
import { learn, NOTHING_KNOWN } from '../loop/report.ts';
import { openJournal, readJournal } from './file.ts';
import { JournalError } from './journal.ts';
import { eventsIn, JOURNAL_START, readPage } from './pages.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-damage-'));
  path = join(folder, 'journal.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const event = (n: number): LoopEvent => ({ type: 'owner.changed', owner: `owner ${n}`, at: n });
const events = (count: number): LoopEvent[] => Array.from({ length: count }, (_, n) => event(n));

function write(count: number): void {
  const journal = openJournal(path);
  for (const next of events(count)) journal.append(next, journal.length);
  journal.close();
}

function read(): readonly LoopEvent[] {
  const found: LoopEvent[] = [];
  readJournal(path, { take: (next) => void found.push(next) });
  return found;
}

const lineOf = (number: number, text: string): string =>
  `{"n":${number},"sum":"${crc32(`${number}:${text}`).toString(16).padStart(8, '0')}","event":${text}}\n`;

const kept = (): readonly string[] => readdirSync(folder).filter((name) => name.includes('.damaged-'));

const ENDS: Readonly<Record<string, Buffer>> = {
  'an unfinished line': Buffer.from('{"n":4,"sum":"0000'),
  'a line with a wrong checksum': Buffer.from('{"n":4,"sum":"00000000","event":{}}\n'),
  'several lines of another program': Buffer.from('hello\nworld\n\n{}\nlast'),
  'bytes that are not text': Buffer.from([255, 10, 254, 0, 10, 10]),
  '10 MB of NUL': Buffer.alloc(10 * 2 ** 20),
  '200 KB of empty lines': Buffer.alloc(200 * 2 ** 10, '\n'),
  'a long line without an end': Buffer.alloc(10 * 2 ** 20, 'x'),
};

describe.each(Object.entries(ENDS))('an end of %s', (_, end) => {
  it('is skipped by readers, and cut off and kept by the next owner', () => {
    write(3);
    const intact = readFileSync(path);
    appendFileSync(path, end);
    const startedAt = performance.now();
    expect(read()).toEqual(events(3));
    expect([...eventsIn(path)]).toEqual(events(3));
    expect(readPage(path, JOURNAL_START).events).toEqual(events(3));
    expect(statSync(path).size).toBe(intact.length + end.length);

    const journal = openJournal(path);
    const [copy = ''] = kept();
    expect(journal.cutOff).toContain(`the last ${end.length} bytes of ${path} were not written completely`);
    expect(journal.cutOff).toContain(join(folder, copy));
    expect(readFileSync(path)).toEqual(intact);
    expect(readFileSync(join(folder, copy)).equals(end)).toBe(true);
    expect(statSync(join(folder, copy)).mode & 0o777).toBe(0o600);
    journal.append(event(3), 3);
    journal.close();
    expect(read()).toEqual(events(4));
    // Quadratic time would be minutes.
    expect(performance.now() - startedAt).toBeLessThan(60_000);
  });
});

describe('a journal', () => {
  it('without damage is opened without a warning', () => {
    write(3);
    const journal = openJournal(path);
    expect(journal.cutOff).toBeNull();
    journal.close();
    expect(kept()).toEqual([]);
  });

  it.each([
    ['a hole of NUL', Buffer.alloc(5000)],
    ['lines of another program', Buffer.from('hello\nworld\n')],
  ])('with %s before an intact line is an error and stays as it is', (_, hole) => {
    write(3);
    appendFileSync(path, hole);
    appendFileSync(path, lineOf(4, JSON.stringify(event(3))));
    const content = readFileSync(path);
    for (const use of [() => read(), () => [...eventsIn(path)], () => openJournal(path)])
      expect(use).toThrow(`${path}:5: this line is damaged`);
    expect(readFileSync(path)).toEqual(content);
    expect(kept()).toEqual([]);
  });

  it('of which not even the header is intact is an error and stays as it is', () => {
    writeFileSync(path, Buffer.alloc(1000));
    for (const use of [() => read(), () => openJournal(path)]) expect(use).toThrow(`${path}:1:`);
    expect(statSync(path).size).toBe(1000);
  });

  it.each([
    '{}',
    'null',
    '[]',
    '{"type":"dance","at":3}',
    '{"type":"timer.fired","key":"x"}',
    '{"type":"timer.fired","key":"x","at":1e300}',
    '{"type":"control.received","id":"x","control":{"type":["tell"]},"at":3}',
    '{"type":"control.received","id":"x","control":{"type":"set"},"at":3}',
    '{"type":"control.received","id":"x","control":{"type":"abort","message":"","as":"waiting"},"at":3}',
    '{"type":"loop.created","name":"x","policy":{"completion":null},"at":3}',
    '{"type":"loop.ended","outcome":{"type":"cost-exhausted","limitUsd":"x","spentUsd":1},"at":3}',
    '{"type":"__proto__","at":3}',
    'no JSON',
  ])('with the event %s is an error that names the line, whatever its checksum says', (text) => {
    write(3);
    appendFileSync(path, lineOf(4, text));
    for (const use of [
      () => read(),
      () => [...eventsIn(path)],
      () => openJournal(path),
      () => readPage(path, readPage(path, JOURNAL_START).next),
    ])
      expect(use).toThrow(`${path}:5: no version of ralph writes this event here`);
  });

  it('turns a fold that fails into an error that names the line', () => {
    write(3);
    const fails = (): never => {
      throw new TypeError('x is undefined');
    };
    expect(() => readJournal(path, { take: fails })).toThrow(JournalError);
    expect(() => readJournal(path, { take: fails })).toThrow(`${path}:2:`);
  });

  it('is not read through a link or from a folder', () => {
    write(1);
    symlinkSync(path, join(folder, 'link'));
    mkdirSync(join(folder, 'folder'));
    expect(() => readJournal(join(folder, 'link'), { take: () => {} })).toThrow('is a symbolic link');
    expect(() => readJournal(join(folder, 'folder'), { take: () => {} })).toThrow('is not a regular file');
    expect(() => openJournal(join(folder, 'link'))).toThrow('is a symbolic link');
    expect(() => readPage(join(folder, 'link'), JOURNAL_START)).toThrow('is a symbolic link');
  });

  it('takes events in any order without a crash of the fold', () => {
    let known = NOTHING_KNOWN;
    const odd: readonly LoopEvent[] = [
      { type: 'timer.fired', key: 'x', at: 1 },
      { type: 'loop.created', name: 'x', policy: DEFAULT_POLICY, at: 2 },
      { type: 'loop.ended', outcome: { type: 'waiting' }, at: 3 },
      { type: 'loop.ended', outcome: { type: 'waiting' }, at: 1 },
      { type: 'loop.reopened', policy: null, at: 4 },
      { type: 'claim.accepted', iteration: 9, run: null, verified: true, at: 5 },
      { type: 'timer.fired', key: 'delay', at: 6 },
    ];
    for (const next of odd) known = learn(known, next);
    expect(known.state.outcome).toBeNull();
  });
});
