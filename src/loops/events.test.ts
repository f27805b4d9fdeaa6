import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openState, registerLoop } from '../../test/rig/loop-folder.ts';
import { openJournal } from '../journal/file.ts';
import { lineOf } from '../journal/lines.ts';
import type { LoopEvent } from '../loop/event.ts';
import { thisProcess } from '../home/lock-owner.ts';
import type { LoopFolder } from '../home/home.ts';
import { eventsIn, pagesOf, type Mark, type Page } from './events.ts';
import { localLoops } from './local-loops.ts';
import type { LoopRef } from './loops.ts';
import { Rights } from './rights.ts';

const loops = localLoops();
const event = (at: number, key = `${at}`): LoopEvent => ({ type: 'timer.fired', key, at });
const append = ({ journal }: LoopFolder, at: number, key?: string): void =>
  appendFileSync(journal, lineOf(event(at, key), at + 1));
const keys = (events: readonly LoopEvent[]): readonly string[] =>
  events.map((one) => (one.type === 'timer.fired' ? one.key : one.type));
const keysIn = (page: Page): readonly string[] => keys(eventsIn(page));
const MINUTE = 60_000;

let folder: LoopFolder;
let ref: LoopRef;
beforeEach(() => {
  folder = registerLoop(openState(), 'it', [event(1)]);
  ref = { id: folder.id, name: folder.name, workspace: folder.workspace };
});
/** This process drives the loop, as far as others can see. */
const drive = (): void => writeFileSync(folder.lock, JSON.stringify(thisProcess()));

describe('the events of a loop', () => {
  it('come in pages, each once, and go on where the reader was', async () => {
    for (let at = 2; at <= 2500; at++) append(folder, at);
    const seen: string[] = [];
    let pages = 0;
    let mark: Mark | null = null;
    for await (const page of pagesOf(loops, ref)) {
      pages++;
      seen.push(...keys(page.events));
      mark = page.next;
    }
    expect(pages).toBeGreaterThan(2);
    expect(seen).toEqual(['loop.created', ...Array.from({ length: 2500 }, (_, index) => `${index + 1}`)]);
    append(folder, 2501);
    const page = await loops.events(ref, { from: mark });
    expect({ keys: keysIn(page), after: page.after }).toEqual({ keys: ['2501'], after: 'rest' });
    expect((await loops.events(ref, { from: page.next })).told).toEqual([]);
  });

  it('have no secrets', async () => {
    vi.stubEnv('THE_API_KEY', 'abcdefgh12345678');
    append(folder, 2, 'x abcdefgh12345678 y');
    expect(keysIn(await loops.events(ref, { from: null })).at(-1)).toBe('x <redacted> y');
  });

  it('are waited for while the loop is driven, until it rests, until the time is over or the call is aborted', async () => {
    drive();
    const { next, after } = await loops.events(ref, { from: null }, { wait: MINUTE });
    expect(after).toBe('driven');
    const waiting = loops.events(ref, { from: next }, { wait: MINUTE });
    append(folder, 2);
    const more = await waiting;
    expect(more.told).toEqual([{ is: 'event', number: 3, event: event(2) }]);
    expect(await loops.events(ref, { from: more.next }, { wait: 10 })).toEqual({ ...more, told: [] });
    const abort = new AbortController();
    const aborted = loops.events(ref, { from: more.next }, { wait: MINUTE, signal: abort.signal });
    abort.abort();
    expect((await aborted).told).toEqual([]);
    const resting = loops.events(ref, { from: more.next }, { wait: MINUTE });
    writeFileSync(folder.lock, '');
    expect(await resting).toMatchObject({ told: [], after: 'rest' });
  });

  it('go on after the crash of an owner in the middle of a line', async () => {
    drive();
    appendFileSync(folder.journal, lineOf(event(2), 3).slice(0, 20));
    const page = await loops.events(ref, { from: null });
    expect(keysIn(page)).toEqual(['loop.created', '1']);
    const waiting = loops.events(ref, { from: page.next }, { wait: MINUTE });
    const journal = openJournal(folder.journal);
    expect(journal.cutOff).not.toBeNull();
    journal.append(event(2, 'another'), 2);
    journal.close();
    expect(keysIn(await waiting)).toEqual(['another']);
  });

  it('are an error where the journal is damaged, after those before it', async () => {
    appendFileSync(folder.journal, 'damaged\n');
    append(folder, 3);
    const page = await loops.events(ref, { from: null });
    expect({ keys: keysIn(page), after: page.after }).toEqual({ keys: ['loop.created', '1'], after: 'more' });
    await expect(loops.events(ref, { from: page.next })).rejects.toThrow(':4: this line is damaged');
  });

  it('wait for an owner that writes a removed journal again', async () => {
    drive();
    rmSync(folder.journal);
    expect(await loops.events(ref, { from: null })).toMatchObject({ told: [], after: 'driven' });
    writeFileSync(folder.lock, '');
    await expect(loops.events(ref, { from: null })).rejects.toThrow('no such file');
  });

  it('of another loop are refused in a sandbox', async () => {
    const own = { ...ref, id: 'own-12345678', name: 'own' };
    const sandboxed = localLoops({ rights: new Rights(() => ({ is: 'sandbox', own })) });
    await expect(sandboxed.events(ref, { from: null })).rejects.toThrow('a sandbox has only its own loop');
  });
});
