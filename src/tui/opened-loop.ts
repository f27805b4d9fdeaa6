/** A loop that a person looks into: what the hall has answered about it last, and the part of it that is shown. */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import type { LoopFacts } from '../loops/facts.ts';
import type { LoopRef, Loops, LoopView } from '../loops/loops.ts';
import type { Mark } from '../loops/events.ts';
import type { RunOf, What } from '../loops/output.ts';
import { readStory } from '../loops/story.ts';
import { fileText } from '../text/night-rows.ts';
import { sanitize } from '../text/terminal.ts';
import { localTime } from '../text/times.ts';
import { UserError } from '../user-error.ts';
import { StreamLines } from './stream-lines.ts';

export const TABS = ['why', 'stream', 'prompt', 'checks', 'diff', 'story', 'report'] as const;
export type Tab = (typeof TABS)[number];

type Hall = Pick<Loops, 'get' | 'facts' | 'events' | 'runs' | 'output' | 'diff' | 'patch'>;

export class OpenedLoop {
  readonly ref: LoopRef;
  readonly #loops: Hall;
  readonly #changed: () => void;
  #reading = new AbortController();
  #tab: Tab = 'why';
  #iteration: number | null = null;
  #isAsking = false;
  #isStale = false;
  /** Null until the hall has answered. */
  view: LoopView | null = null;
  facts: LoopFacts | null = null;
  problem: string | null = null;
  /** Of the tabs that are texts. */
  lines: readonly string[] = [];
  stream: StreamLines | null = null;
  /** The run whose stream is shown. */
  #run: string | null = null;
  /** The first line on the screen; null for the end. */
  scroll: number | null = 0;
  isFolded = true;

  constructor(loops: Hall, ref: LoopRef, changed: () => void) {
    this.#loops = loops;
    this.ref = ref;
    this.#changed = changed;
    this.refresh();
  }

  get tab(): Tab {
    return this.#tab;
  }

  /** The iteration that the tabs are about; null for the last one. */
  get iteration(): number | null {
    return this.#iteration;
  }

  show(tab: Tab): void {
    this.#tab = tab;
    this.#read();
  }

  /** Goes to the iteration before or after; after the last one, what is shown follows the loop again. */
  step(by: number): void {
    const last = this.view?.state.iteration ?? 0;
    const next = (this.#iteration ?? last) + by;
    this.#iteration = next >= last ? null : Math.max(1, next);
    this.#read();
  }

  /** Asks the hall again: the loop has changed. */
  refresh(): void {
    this.#isStale = true;
    if (!this.#isAsking) void this.#refresh();
  }

  close(): void {
    this.#reading.abort();
  }

  async #refresh(): Promise<void> {
    this.#isAsking = true;
    while (this.#isStale) {
      this.#isStale = false;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await this.#ask();
      // A busy loop changes all the time.
      // oxlint-disable-next-line no-await-in-loop -- as above
      if (this.#isStale) await pause(REFRESH_MS);
    }
    this.#isAsking = false;
  }

  async #ask(): Promise<void> {
    try {
      this.view = await this.#loops.get(this.ref);
      this.#changed();
      if (this.#tab === 'why') this.facts = await this.#loops.facts(this.ref, { since: null });
      else if (this.#tab === 'stream') await this.#followLastRun();
      this.problem = null;
    } catch (error) {
      this.problem = messageOf(error);
    }
    this.#changed();
  }

  #read(): void {
    this.#reading.abort();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    this.lines = [];
    this.stream = null;
    this.#run = null;
    this.scroll = this.#tab === 'stream' ? null : 0;
    this.problem = null;
    this.#changed();
    if (this.#tab === 'why' || this.#tab === 'stream') return this.refresh();
    const show = (found: Partial<Pick<OpenedLoop, 'lines' | 'problem'>>): void => {
      if (signal.aborted) return;
      Object.assign(this, found);
      this.#changed();
    };
    this.#linesOf(this.#tab, signal).then(
      (lines) => show({ lines }),
      (error: unknown) => show({ problem: messageOf(error) }),
    );
  }

  async #linesOf(tab: Exclude<Tab, 'why' | 'stream'>, signal: AbortSignal): Promise<readonly string[]> {
    switch (tab) {
      case 'prompt': {
        const run = await this.#lastRun();
        return run === null ? NO_RUN : this.#output(run.run, 'prompt');
      }
      case 'checks':
        return this.#checks();
      case 'diff':
        return this.#diff();
      case 'story': {
        const lines: string[] = [];
        const filter = { from: 0, iteration: this.#iteration };
        for await (const { at, text } of readStory(this.#loops, this.ref, filter)) {
          if (signal.aborted) break;
          lines.push(...plainLines(`${localTime(at).replace('T', ' ')}  ${text}`));
        }
        return lines;
      }
      case 'report':
        this.facts = await this.#loops.facts(this.ref, { since: 0 });
        return [];
    }
  }

  /** The last run of the iteration that is shown; null if it has none. */
  async #lastRun(): Promise<RunOf | null> {
    const runs = await this.#loops.runs(this.ref);
    const wanted = this.#iteration;
    return runs.findLast(({ run }) => wanted === null || Number.parseInt(run, 10) === wanted) ?? null;
  }

  async #checks(): Promise<readonly string[]> {
    const run = await this.#lastRun();
    if (run === null) return NO_RUN;
    const logs = await Promise.all(
      run.checks.map(async (check) => [`── ${check}`, ...(await this.#output(run.run, { check })), '']),
    );
    return logs.length === 0 ? [`no check has run after run ${run.run}`] : logs.flat();
  }

  async #diff(): Promise<readonly string[]> {
    const what = this.#iteration === null ? null : String(this.#iteration);
    const [facts, diff] = await Promise.all([
      what === null ? this.#loops.facts(this.ref, { since: null }) : null,
      this.#loops.diff(this.ref, what),
    ]);
    if (diff.files.length === 0) return ['no file has changed'];
    const { data, after } = await this.#loops.patch(this.ref, diff, { from: 0 });
    // The changes that verify the work stand first.
    const files =
      facts?.changes?.files.map(fileText) ??
      diff.files.map(({ path, added, removed }) => `+${added ?? '?'} -${removed ?? '?'} ${path}`);
    const rest = after === 'more' ? [`… the rest: ralph diff ${this.ref.name}`] : [];
    return [...files.flatMap(plainLines), '', ...plainLines(textOf(data)), ...rest];
  }

  /** An output, or only the end of a long one. */
  async #output(run: string, what: What): Promise<readonly string[]> {
    const first = await this.#loops.output(this.ref, run, what, { from: 0, bytes: MOST_BYTES });
    const from = first.size - MOST_BYTES;
    const isLong = what !== 'prompt' && from > 0;
    const { data } = isLong
      ? await this.#loops.output(this.ref, run, what, { from, bytes: MOST_BYTES })
      : first;
    return [...(isLong ? [`… the first ${from} bytes are left out`] : []), ...plainLines(textOf(data))];
  }

  /** Shows what the agent of the last run says and does, and goes on to the next run when there is one. */
  async #followLastRun(): Promise<void> {
    const run = (await this.#lastRun())?.run ?? null;
    if (run === null || run === this.#run || this.#tab !== 'stream') return;
    this.#reading.abort();
    this.#reading = new AbortController();
    this.#run = run;
    this.stream = new StreamLines();
    this.#follow(run, this.stream, this.#reading.signal).catch((error: unknown) => {
      this.problem = messageOf(error);
      this.#changed();
    });
  }

  async #follow(run: string, lines: StreamLines, signal: AbortSignal): Promise<void> {
    let from: Mark | null = null;
    while (!signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- one page after the other
      const page = await this.#loops.events(this.ref, { from, run }, { signal, wait: WAIT_MS });
      for (const told of page.told) if (told.is === 'agent') lines.add(told.event);
      if (page.told.length > 0) this.#changed();
      if (page.after === 'rest') return;
      from = page.next;
      // A recording of 100 MB must not delay keys.
      // oxlint-disable-next-line no-await-in-loop -- as above
      await turn();
    }
  }
}

/** What a person reads of an error; one that is ours is shown and not thrown away. */
export function messageOf(error: unknown): string {
  if (error instanceof UserError) return error.message;
  return `internal error: ${error instanceof Error ? error.message : String(error)}`;
}

function textOf(data: string): string {
  return Buffer.from(data, 'base64').toString('utf8');
}

/** Lines without anything that moves a cursor or hides. */
export function plainLines(text: string): readonly string[] {
  return sanitize(text, false).replaceAll('\t', '  ').replace(/\n$/, '').split('\n');
}

const NO_RUN: readonly string[] = ['the agent has not run yet'];
const MOST_BYTES = 128 * 1024;
const WAIT_MS = 30_000;
const REFRESH_MS = 500;
