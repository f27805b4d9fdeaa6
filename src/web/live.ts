/**
 * The one stream of a browser: what changes in the list, and in the loops that its tabs show, as lines of JSON.
 *
 * 1. Every line of a list or of a loop has the mark after it. A browser that asks with its last marks misses nothing and gets nothing
 *    twice, over a reload, a lost connection and a new server.
 * 2. What a loop has done before is sent as its view and the last piece of what its agent does, not as its whole history.
 * 3. A line is sent once the one before it was taken, so that a slow reader costs no memory.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Doing } from '../loops/doing.ts';
import type { RowChange, ListMark } from '../loops/changes.ts';
import type { Mark, Told } from '../loops/events.ts';
import type { LoopRef, Loops, LoopView } from '../loops/loops.ts';
import { requestIn } from '../loops/request.ts';
import { isRecord } from '../loop/shape.ts';
import { withoutMiddle } from '../text/without-middle.ts';
import { reasonOf } from '../user-error.ts';

/** What the tabs of a browser show. */
export interface Wants {
  /** Null without the list; its mark is null for a browser that has seen none of it. */
  readonly list: { readonly from: ListMark | null } | null;
  readonly loops: readonly LoopWant[];
}

export interface LoopWant {
  /** By which the browser tells its tabs apart. */
  readonly key: string;
  readonly loop: LoopRef;
  readonly from: Mark | 'snapshot';
}

export type LiveLine =
  | { readonly is: 'hello'; readonly isReadOnly: boolean }
  | { readonly is: 'list'; readonly changes: readonly RowChange[]; readonly next: ListMark }
  /** What the loops of the list do at this moment, of those for which that has changed. */
  | { readonly is: 'doing'; readonly doing: Readonly<Record<string, Doing | null>> }
  /** What has happened in a loop; `skipped` of it came before, and is not sent. */
  | {
      readonly is: 'told';
      readonly key: string;
      readonly skipped: number;
      readonly told: readonly Told[];
      readonly next: Mark;
    }
  | { readonly is: 'view'; readonly key: string; readonly view: LoopView }
  /** Of a loop, or of the list, where the key is null. */
  | { readonly is: 'trouble'; readonly key: string | null; readonly message: string };

type Write = (line: string) => Promise<void>;

/** Null if it is no request of the page. */
export function wantsIn(value: unknown): Wants | null {
  if (!isRecord(value)) return null;
  const { list, loops } = value;
  if (!Array.isArray(loops) || loops.length > MOST_LOOPS) return null;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every part of it is checked
  return isList(list) && loops.every(isWant) ? (value as unknown as Wants) : null;
}

function isList(list: unknown): boolean {
  if (!isRecord(list)) return list === null;
  const { from } = list;
  return requestIn({ verb: 'changes', args: [ALL, from] }) !== null;
}

function isWant(want: unknown): boolean {
  if (!isRecord(want)) return false;
  const { key, loop, from } = want;
  const request = { verb: 'events', args: [loop, { from, agent: true }] };
  return typeof key === 'string' && from !== null && requestIn(request) !== null;
}

const MOST_LOOPS = 32;
const ALL = { workspace: null };

/** Writes lines until the signal aborts. */
export async function liveLines(
  loops: Loops,
  { wants, isReadOnly }: { readonly wants: Wants; readonly isReadOnly: boolean },
  write: Write,
  signal: AbortSignal,
): Promise<void> {
  const send = (line: LiveLine): Promise<void> => write(JSON.stringify(line));
  await send({ is: 'hello', isReadOnly });
  const driven = new Map<string, LoopRef>();
  await Promise.all([
    ...(wants.list === null
      ? []
      : [sendList(loops, wants.list.from, driven, send, signal), sendDoing(loops, driven, send, signal)]),
    ...wants.loops.map((want) => sendLoop(loops, want, { send, write }, signal)),
  ]);
}

type Send = (line: LiveLine) => Promise<void>;

async function sendList(
  loops: Loops,
  from: ListMark | null,
  driven: Map<string, LoopRef>,
  send: Send,
  signal: AbortSignal,
): Promise<void> {
  if (from !== null) await keepDriven(loops, driven, signal);
  let mark = from;
  await whileOpen(send, null, signal, async () => {
    const { changes, next } = await loops.changes(ALL, mark, { signal, wait: BEAT_MS });
    mark = next;
    for (const change of changes) noteDriven(driven, change);
    // Also without a change: the browser sees that the connection is alive.
    await send({ is: 'list', changes, next });
    await pause(LIST_PAUSE_MS, signal);
  });
}

/** Which loops are driven, for a browser that has the list already. */
async function keepDriven(loops: Loops, driven: Map<string, LoopRef>, signal: AbortSignal): Promise<void> {
  const { changes } = await loops.changes(ALL, null, { signal });
  for (const change of changes) noteDriven(driven, change);
}

function noteDriven(driven: Map<string, LoopRef>, change: RowChange): void {
  if (change.is === 'removed') return void driven.delete(change.id);
  const { id, name, workspace, owner } = change.row;
  if (owner === null) driven.delete(id);
  else driven.set(id, { id, name, workspace });
}

/** A few loops at a time: each look reads the end of what an agent has printed. */
async function sendDoing(
  loops: Loops,
  driven: ReadonlyMap<string, LoopRef>,
  send: Send,
  signal: AbortSignal,
): Promise<void> {
  const known = new Map<string, string>();
  let turn = 0;
  await whileOpen(send, null, signal, async () => {
    await pause(DOING_MS, signal);
    const all = [...driven.values()];
    const some = Array.from({ length: Math.min(LOOKS, all.length) }, () => all[turn++ % all.length]);
    const doing: Record<string, Doing | null> = {};
    for (const loop of some) {
      if (loop === undefined) continue;
      // oxlint-disable-next-line no-await-in-loop -- one after the other, so that requests come between them
      const now = await loops.get(loop).then(
        (view) => view.doing,
        () => null,
      );
      const text = JSON.stringify(now);
      if (known.get(loop.id) !== text) doing[loop.id] = now;
      known.set(loop.id, text);
    }
    if (Object.keys(doing).length > 0) await send({ is: 'doing', doing });
  });
}

async function sendLoop(
  loops: Loops,
  { key, loop, from }: LoopWant,
  { send, write }: { readonly send: Send; readonly write: Write },
  signal: AbortSignal,
): Promise<void> {
  const stale = new Stale();
  const views = async (): Promise<void> => {
    let known = '';
    await whileOpen(send, key, signal, async () => {
      stale.end();
      const view = await loops.get(loop);
      const line = JSON.stringify({ is: 'view', key, view } satisfies LiveLine);
      if (line !== known) await write(line);
      known = line;
      await pause(VIEW_MS, signal);
      // What it does at the moment changes without an event.
      await stale.begins(view.summary.owner === null ? BEAT_MS : DOING_MS, signal);
    });
  };
  let at: Mark | 'snapshot' = from;
  const events = (): Promise<void> =>
    whileOpen(send, key, signal, async () => {
      const { told, skipped, next } = await news(loops, loop, at, signal);
      at = next;
      if (told.some(isEvent)) stale.begin();
      if (told.length > 0 || skipped > 0)
        await write(
          `{"is":"told","key":${JSON.stringify(key)},"skipped":${skipped},"told":[${told.join(',')}],"next":${JSON.stringify(next)}}`,
        );
    });
  await Promise.all([views(), events()]);
}

/** Whether something has happened that a view does not show yet. */
class Stale {
  #begun = new AbortController();

  begin(): void {
    this.#begun.abort();
  }

  end(): void {
    this.#begun = new AbortController();
  }

  /** Waits until it begins, at most for that long. */
  begins(ms: number, signal: AbortSignal): Promise<void> {
    return pause(ms, AbortSignal.any([signal, this.#begun.signal]));
  }
}

/** What has happened since a place, as JSON: the last piece of it, if it is much. */
async function news(
  loops: Loops,
  loop: LoopRef,
  from: Mark | 'snapshot',
  signal: AbortSignal,
): Promise<{ readonly told: readonly string[]; readonly skipped: number; readonly next: Mark }> {
  const kept: string[] = [];
  let [chars, skipped] = [0, 0];
  const end = Date.now() + PIECE_MS;
  for (let at: Mark | 'snapshot' = from; ;) {
    // oxlint-disable-next-line no-await-in-loop -- one page after the other
    const page = await loops.events(loop, { from: at, agent: true }, { signal, wait: BEAT_MS });
    for (const told of page.told) {
      if (told.is === 'snapshot') continue;
      const text = JSON.stringify(told, shortened);
      kept.push(text);
      chars += text.length;
    }
    for (; chars > MOST_CHARS && kept.length > 1; skipped++) chars -= kept.shift()?.length ?? 0;
    at = page.next;
    // An agent that prints without an end must not keep what it prints from being shown.
    if (page.after !== 'more' || Date.now() > end || signal.aborted) return { told: kept, skipped, next: at };
  }
}

function isEvent(told: string): boolean {
  return told.startsWith('{"is":"event"');
}

function shortened(_: string, value: unknown): unknown {
  return typeof value === 'string' ? withoutMiddle(value, MOST_TEXT) : value;
}

/** Again and again until the signal aborts; what goes wrong is said, and tried again. */
async function whileOpen(
  send: Send,
  key: string | null,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted)
    try {
      await work();
    } catch (error) {
      if (signal.aborted) return;
      await send({ is: 'trouble', key, message: reasonOf(error) });
      await pause(TROUBLE_MS, signal);
    }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await after(ms, undefined, { signal }).catch(() => {});
}

const BEAT_MS = 15_000;
const LIST_PAUSE_MS = 200;
const VIEW_MS = 250;
const DOING_MS = 1500;
const LOOKS = 10;
const PIECE_MS = 500;
const TROUBLE_MS = 3000;
/** Of one line of the stream, and of one text in it. */
const MOST_CHARS = 256 * 1024;
const MOST_TEXT = 32 * 1024;
