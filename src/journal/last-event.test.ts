import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LoopEvent } from '../loop/event.ts';
import { lastEvent } from './last-event.ts';
import { header, lineOf } from './lines.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-last-event-'));
  path = join(folder, 'journal.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const left: LoopEvent = { type: 'owner.left', at: 1 };
const fired = (key: string): LoopEvent => ({ type: 'timer.fired', key, at: 2 });
const write = (...events: readonly LoopEvent[]): void =>
  writeFileSync(path, header() + events.map((event, at) => lineOf(event, at + 1)).join(''));

describe('the last event of a journal', () => {
  it('is read without the others', () => {
    write(left, fired('a'));
    expect(lastEvent(path)).toEqual(fired('a'));
    write(...Array.from({ length: 500 }, () => left), fired('b'));
    expect(lastEvent(path)).toEqual(fired('b'));
  });

  it('is unknown if the end was not written completely, or is damaged', () => {
    write(left, fired('a'));
    const whole = readFileSync(path);
    writeFileSync(path, whole.subarray(0, -1));
    expect(lastEvent(path)).toBeNull();
    writeFileSync(path, whole.toString().replace('"a"', '"b"'));
    expect(lastEvent(path)).toBeNull();
    writeFileSync(path, whole);
    appendFileSync(path, '{}\n');
    expect(lastEvent(path)).toBeNull();
  });

  it('is unknown if it is long, and for a file without events, an empty one, a link or none', () => {
    write(left, fired('x'.repeat(5000)));
    expect(lastEvent(path)).toBeNull();
    writeFileSync(path, header());
    expect(lastEvent(path)).toBeNull();
    writeFileSync(path, '');
    expect(lastEvent(path)).toBeNull();
    write(left);
    symlinkSync(path, join(folder, 'link'));
    expect(lastEvent(join(folder, 'link'))).toBeNull();
    expect(lastEvent(join(folder, 'none'))).toBeNull();
  });
});
