import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { LoopEvent } from '../loop/event.ts';
import { openJournal, readJournal } from './file.ts';
import { eventsIn } from './stream.ts';

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
