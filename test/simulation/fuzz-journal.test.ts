/** Journals of simulated loops with random changes: readers give the events before the change, or an error, and never fail. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openJournal, readJournal } from '../../src/journal/file.ts';
import { JournalError } from '../../src/journal/journal.ts';
import { eventsIn, JOURNAL_START, readPage } from '../../src/journal/pages.ts';
import { decide } from '../../src/loop/decide.ts';
import type { LoopEvent } from '../../src/loop/event.ts';
import { isEvent } from '../../src/loop/event-shape.ts';
import { learn, NOTHING_KNOWN } from '../../src/loop/report.ts';
import { readLoopAt } from '../../src/home/read-loop.ts';
import type { Spec } from '../../src/home/spec.ts';
import { LoopFolder } from '../../src/home/home.ts';
import { summaryOf } from '../../src/loops/summary.ts';
import { mutatedBytes, mutatedValue } from './fuzz-inputs.ts';
import { replay } from './histories.ts';
import { scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-fuzz-'));
  path = join(folder, 'journal.jsonl');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HEADER = '{"journal":2}\n';
const RUNS = 1000;

function lineOf(text: string, index: number): string {
  const sum = crc32(`${index + 1}:${text}`);
  return `{"n":${index + 1},"sum":"${sum.toString(16).padStart(8, '0')}","event":${text}}\n`;
}

const textOf = (events: readonly LoopEvent[]): string =>
  `${HEADER}${events.map((event, index) => lineOf(JSON.stringify(event), index)).join('')}`;

/** The shortest events of some journals, so that a run stays short. */
const journals: readonly (readonly LoopEvent[])[] = fc
  .sample(scenario, { numRuns: 40, seed: 14 })
  .map((drawn) => simulate(drawn).journal.slice(0, 40));

/** The events, or null after an error that a user sees. */
function tried(read: () => readonly LoopEvent[]): readonly LoopEvent[] | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof JournalError) return null;
    throw error;
  }
}

function all(take: (push: (event: LoopEvent) => void) => unknown): readonly LoopEvent[] {
  const events: LoopEvent[] = [];
  take((event) => void events.push(event));
  return events;
}

/** Read in small pages, as far as that is possible. */
function paged(file: string): readonly LoopEvent[] {
  const found: LoopEvent[] = [];
  for (let from = JOURNAL_START; ;) {
    const page = readPage(file, from, { events: 3, bytes: 100 });
    found.push(...page.events);
    if (page.isEnd) return found;
    from = page.next;
  }
}

function opened(): readonly LoopEvent[] {
  return all((take) => openJournal(path, { take }).close());
}

it('every event of a simulated loop has the shape of an event', { timeout: 120_000 }, () => {
  const types = new Set<string>();
  fc.assert(
    fc.property(scenario, (drawn) => {
      for (const event of simulate(drawn).journal) {
        types.add(event.type);
        if (!isEvent(JSON.parse(JSON.stringify(event)))) throw new Error(JSON.stringify(event));
      }
    }),
    { numRuns: 300, ...replay },
  );
  expect(types.size).toBeGreaterThan(15);
});

it(
  'a damaged journal gives the events before the damage or an error, to every reader the same',
  { timeout: 120_000 },
  () => {
    let cut = 0;
    let refused = 0;
    const damaged = fc
      .constantFrom(...journals)
      .chain((events) => mutatedBytes(Buffer.from(textOf(events))).map((content) => ({ events, content })));
    fc.assert(
      fc.property(damaged, ({ events, content }) => {
        rmSync(path, { force: true });
        writeFileSync(path, content);
        const read = tried(() => all((take) => readJournal(path, { take })));
        const written = JSON.stringify(events);
        const isPrefix = (some: readonly LoopEvent[]): boolean =>
          JSON.stringify(some.slice(0, events.length)).slice(0, -1) ===
          written.slice(0, JSON.stringify(some.slice(0, events.length)).length - 1);
        if (read !== null && !isPrefix(read)) throw new Error('believed an event that was not written');
        // A header without its newline is a journal that is just being created.
        const streamed = tried(() => [...eventsIn(path)]);
        if (content.includes(10) && (streamed === null) !== (read === null))
          throw new Error('one reader refuses what another one reads');
        const followed = tried(() => paged(path));
        if (content.includes(10) && JSON.stringify(followed) !== JSON.stringify(read))
          throw new Error('pages have other events than the whole journal');
        expect([tried(opened), tried(opened)]).toEqual([read, read]);
        if (read === null) refused++;
        else if (read.length < events.length) cut++;
      }),
      { numRuns: RUNS, ...replay },
    );
    expect({ cuts: cut > 50, refusals: refused > 50 }).toEqual({ cuts: true, refusals: true });
  },
);

const spec: Spec = {
  version: 1,
  id: 'it-1',
  name: 'it',
  workspace: '/nowhere',
  created: '',
  agent: { kind: 'custom', argv: [] },
  prompt: { text: '' },
  parent: null,
};

it(
  'events with right checksums and odd values are refused or shown, and never make a list fail',
  { timeout: 120_000 },
  () => {
    writeFileSync(join(folder, 'spec.json'), JSON.stringify(spec));
    let refused = 0;
    const odd = fc.constantFrom(...journals).chain((events) =>
      fc.nat({ max: events.length - 1 }).chain((place) =>
        mutatedValue(events[place]).map((text) => {
          const texts = events.map((event) => JSON.stringify(event)).with(place, text);
          return texts.map(lineOf).join('');
        }),
      ),
    );
    fc.assert(
      fc.property(odd, (lines) => {
        rmSync(path, { force: true });
        writeFileSync(path, `${HEADER}${lines}`);
        const loop = readLoopAt(new LoopFolder(spec, folder));
        if (loop === null || summaryOf(loop).status === 'unreadable') refused++;
      }),
      { numRuns: RUNS, ...replay },
    );
    expect(refused).toBeGreaterThan(RUNS / 4);
  },
);

/** Folds events and shows what they say, as every command does. */
function show(events: readonly LoopEvent[]): void {
  let known = NOTHING_KNOWN;
  for (const event of events) known = learn(known, event);
  decide(known.state);
  const about = {
    folder: new LoopFolder(spec, folder),
    spec,
    ...known,
    owner: 1,
    read: { events: 0, bytes: 0 },
    trouble: null,
  };
  const { status, reason } = summaryOf(about);
  if (status === 'unreadable') throw new Error(`the summary failed: ${reason}`);
}

it('events in any order never make the fold fail', { timeout: 120_000 }, () => {
  const some = journals.flat();
  let shown = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(...journals),
      fc.array(fc.constantFrom(...some), { maxLength: 30 }),
      ([created], events) => {
        show([...(created === undefined ? [] : [created]), ...events]);
        shown++;
      },
    ),
    { numRuns: RUNS, ...replay },
  );
  expect(shown).toBe(RUNS);
});
