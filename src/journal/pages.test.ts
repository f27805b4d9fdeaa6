import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import type { LoopEvent } from '../loop/event.ts';
import { openJournal, readJournal } from './file.ts';
import { eventsIn, JOURNAL_START, readPage, type EventMark } from './pages.ts';

function journalOf(count: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-stream-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'journal.jsonl');
  const journal = openJournal(path);
  for (let at = 0; at < count; at++)
    journal.append({ type: 'timer.fired', key: `€${'x'.repeat(at % 300)}`, at }, at);
  journal.close();
  return path;
}

function read(path: string): readonly LoopEvent[] {
  const events: LoopEvent[] = [];
  readJournal(path, { take: (event) => void events.push(event) });
  return events;
}

it('gives the events that the whole journal has, across the borders of what is read at once', () => {
  const path = journalOf(2000);
  expect([...eventsIn(path)]).toEqual(read(path));
});

it.each(['', '{"n":21,"sum":"00000000","ev', '{"n":21,"sum":"00000000","event":{}}\n'])(
  'skips a torn last line: %j',
  (torn) => {
    const path = journalOf(20);
    appendFileSync(path, torn);
    expect([...eventsIn(path)]).toHaveLength(20);
    expect([...eventsIn(path)]).toEqual(read(path));
  },
);

it('gives the events before a damaged line, then the error that names the line', () => {
  const path = journalOf(20);
  writeFileSync(path, readFileSync(path, 'utf8').replace('"at":9', '"at":8'));
  const seen: LoopEvent[] = [];
  expect(() => {
    for (const event of eventsIn(path)) seen.push(event);
  }).toThrow(`${path}:11: this line is damaged`);
  expect(seen).toHaveLength(9);
  expect(() => read(path)).toThrow(`${path}:11: this line is damaged`);
});

it('refuses a file that is no journal, or one of another version', () => {
  const path = journalOf(0);
  writeFileSync(path, 'something else\n');
  expect(() => [...eventsIn(path)]).toThrow(`${path}:1: this line is damaged`);
  writeFileSync(path, '{"journal":1}\n');
  expect(() => [...eventsIn(path)]).toThrow(
    'has journal version 1, but this version of ralph reads only version 2',
  );
});

/** Reads on, page by page, until there is nothing more now. */
function readOn(path: string, from: EventMark, limits: object): { events: LoopEvent[]; next: EventMark } {
  const events: LoopEvent[] = [];
  for (let at = from; ;) {
    const page = readPage(path, at, limits);
    events.push(...page.events);
    expect(page.next.events).toBe(at.events + page.events.length);
    if (page.isEnd) return { events, next: page.next };
    at = page.next;
  }
}

const ENDS = ['', '{', '{"n":1,"sum":"0', 'garbage\nmore garbage\n', '\0\0\0', '\n'.repeat(100)];

it('gives every event once over pages of any size, while it is written, and after ends that an owner cuts off', () => {
  const step = fc.record({
    events: fc.array(fc.nat(2000), { maxLength: 12 }),
    end: fc.constantFrom(...ENDS),
  });
  const limits = fc.record({
    events: fc.integer({ min: 1, max: 20 }),
    bytes: fc.integer({ min: 1, max: 5000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), limits, (steps, limit) => {
      const path = join(mkdtempSync(join(tmpdir(), 'ralph-pages-')), 'journal.jsonl');
      const written: LoopEvent[] = [];
      const seen: LoopEvent[] = [];
      let from = JOURNAL_START;
      for (const { events, end } of steps) {
        // The owner before has left an end that cannot be read.
        const journal = openJournal(path);
        for (const length of events) {
          const event: LoopEvent = { type: 'timer.fired', key: 'é'.repeat(length), at: written.length };
          journal.append(event, written.length);
          written.push(event);
          if (length % 3 > 0) continue;
          const { events: more, next } = readOn(path, from, limit);
          seen.push(...more);
          from = next;
          expect(seen).toEqual(written);
        }
        journal.close();
        appendFileSync(path, end);
      }
      if (steps.length > 0) seen.push(...readOn(path, from, limit).events);
      expect(seen).toEqual(written);
      rmSync(dirname(path), { recursive: true });
    }),
    { numRuns: 150 },
  );
});

it('reads no byte before the mark again but one', () => {
  const path = journalOf(2000);
  const { next } = readPage(path, JOURNAL_START, { events: 1500 });
  const content = readFileSync(path);
  writeFileSync(path, Buffer.concat([Buffer.alloc(next.bytes - 1, 'x'), content.subarray(next.bytes - 1)]));
  const events = readOn(path, next, {}).events.map(({ at }) => at);
  expect(events).toEqual(Array.from({ length: 2000 - next.events }, (_, index) => next.events + index));
});

it('refuses a mark where no line begins', () => {
  const path = journalOf(20);
  const { next } = readPage(path, JOURNAL_START, { events: 10 });
  for (const bytes of [next.bytes + 1, 10_000_000])
    expect(() => readPage(path, { ...next, bytes })).toThrow(
      `no line of it begins at byte ${bytes} any more`,
    );
});
