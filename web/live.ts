/**
 * What changes, for all tabs of this browser over one connection.
 *
 * 1. The tab that holds the lock has the connection, and tells the others what it gets. A hidden tab lets go of both.
 * 2. Every tab keeps its own marks, so that it misses nothing when another one takes over, or the server was started again.
 */
import type { Doing } from '../src/loops/doing.ts';
import type { ListMark } from '../src/loops/changes.ts';
import type { Told } from '../src/loops/events.ts';
import type { LoopRow } from '../src/loops/list.ts';
import type { LoopRef, LoopView } from '../src/loops/loops.ts';
import type { LiveLine, LoopWant } from '../src/web/live.ts';
import { post, reasonOf, Refusal } from './api.ts';
import { token } from './token.ts';

/** What is known about the list. */
export interface ListNow {
  readonly rows: ReadonlyMap<string, LoopRow>;
  readonly doing: Readonly<Record<string, Doing | null>>;
  readonly isReadOnly: boolean;
  /** Null until the first rows have come. */
  readonly mark: ListMark | null;
  /** Why nothing comes at the moment. */
  readonly trouble: string | null;
  /** Whether the token is not the one of the server. */
  readonly isShutOut: boolean;
}

/** What a tab hears of a loop that it shows. */
export interface LoopListener {
  view(view: LoopView): void;
  told(told: readonly Told[], skipped: number): void;
  trouble(message: string | null): void;
}

type Message =
  | {
      readonly is: 'want';
      readonly tab: string;
      readonly loops: readonly LoopWant[];
      readonly hasList: boolean;
    }
  | { readonly is: 'bye'; readonly tab: string }
  | { readonly is: 'lead' }
  | { readonly is: 'line'; readonly line: LiveLine }
  | { readonly is: 'list'; readonly tab: string | null; readonly list: ListNow };

class Live {
  list: ListNow = {
    rows: new Map(),
    doing: {},
    isReadOnly: false,
    mark: null,
    trouble: 'connecting',
    isShutOut: false,
  };
  readonly #tab = crypto.randomUUID();
  readonly #own = new Map<string, { want: LoopWant; readonly listener: LoopListener }>();
  readonly #others = new Map<string, readonly LoopWant[]>();
  readonly #watchers = new Set<() => void>();
  #channel: BroadcastChannel | null = null;
  #presence: AbortController | null = null;
  #round: AbortController | null = null;
  #keys = 0;
  #isLeader = false;

  /** Begins, and follows whether the tab is shown. */
  start(): void {
    document.addEventListener('visibilitychange', () => this.#turn());
    addEventListener('pagehide', () => this.#stop());
    addEventListener('pageshow', () => this.#turn());
    this.#turn();
  }

  /** Begins again, with another token. */
  restart(): void {
    this.#stop();
    this.#set({ trouble: 'connecting', isShutOut: false });
    this.#turn();
  }

  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange);
    return () => this.#watchers.delete(onChange);
  }

  /** Shows a loop from now on; returns what ends that. */
  follow(loop: LoopRef, listener: LoopListener): () => void {
    const { id, name, workspace } = loop;
    const key = `${this.#tab}:${this.#keys++}`;
    this.#own.set(key, { want: { key, loop: { id, name, workspace }, from: 'snapshot' }, listener });
    this.#wantsChanged();
    return () => {
      this.#own.delete(key);
      this.#wantsChanged();
    };
  }

  #turn(): void {
    if (document.hidden || token() === null || this.list.isShutOut) this.#stop();
    else if (this.#presence === null) this.#begin();
  }

  #begin(): void {
    const presence = new AbortController();
    this.#presence = presence;
    const name = `ralph-${token()?.slice(0, 8)}`;
    this.#channel = new BroadcastChannel(name);
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Message>) => this.#hear(data));
    this.#wantsChanged();
    navigator.locks
      .request(name, { signal: presence.signal }, () => this.#lead(presence.signal))
      .catch(() => {});
  }

  #stop(): void {
    this.#post({ is: 'bye', tab: this.#tab });
    this.#presence?.abort();
    this.#round?.abort();
    this.#channel?.close();
    [this.#presence, this.#channel] = [null, null];
    this.#others.clear();
  }

  #post(message: Message): void {
    this.#channel?.postMessage(message);
  }

  #hear(message: Message): void {
    switch (message.is) {
      case 'want':
        if (!this.#isLeader) return;
        if (!message.hasList) this.#post({ is: 'list', tab: message.tab, list: this.list });
        this.#others.set(message.tab, message.loops);
        return this.#round?.abort();
      case 'bye':
        if (this.#others.delete(message.tab)) this.#round?.abort();
        return;
      case 'lead':
        return this.#wantsChanged();
      case 'line':
        return this.#take(message.line);
      case 'list':
        if (message.tab === null || message.tab === this.#tab) this.#set(message.list);
    }
  }

  #wantsChanged(): void {
    if (this.#isLeader) return this.#round?.abort();
    const loops = [...this.#own.values()].map(({ want }) => want);
    this.#post({ is: 'want', tab: this.#tab, loops, hasList: this.list.mark !== null });
  }

  async #lead(presence: AbortSignal): Promise<void> {
    this.#isLeader = true;
    this.#post({ is: 'lead' });
    let failures = 0;
    while (!presence.aborted && !this.list.isShutOut) {
      const round = new AbortController();
      this.#round = round;
      // oxlint-disable-next-line no-await-in-loop -- one connection after the other
      await pause(WANTS_MS);
      try {
        if (!presence.aborted)
          // oxlint-disable-next-line no-await-in-loop -- as above
          await this.#read(round, () => {
            failures = 0;
          });
      } catch (error) {
        if (presence.aborted) break;
        if (round.signal.aborted && round.signal.reason !== SILENT) continue;
        const isShutOut = error instanceof Refusal && error.isToken;
        this.#share({ trouble: reasonOf(error), isShutOut });
        failures++;
        // oxlint-disable-next-line no-await-in-loop -- as above
        await pause(Math.min(5000, 250 * 2 ** failures));
      }
    }
    this.#isLeader = false;
  }

  /** Reads one connection to its end. */
  async #read(round: AbortController, onLine: () => void): Promise<void> {
    const own = [...this.#own.values()].map(({ want }) => want);
    const loops = [...own, ...[...this.#others.values()].flat()];
    const response = await post('/live', { list: { from: this.list.mark }, loops }, round.signal);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const silence = setTimeout(() => round.abort(SILENT), SILENCE_MS);
      // oxlint-disable-next-line no-await-in-loop -- piece by piece
      const piece = await reader?.read().finally(() => clearTimeout(silence));
      if (piece === undefined || piece.done) throw new TypeError('the connection has ended');
      const lines = (rest + piece.value).split('\n');
      rest = lines.pop() ?? '';
      for (const text of lines) {
        onLine();
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own server
        const line = JSON.parse(text) as LiveLine;
        this.#take(line);
        this.#post({ is: 'line', line });
      }
    }
  }

  #take(line: LiveLine): void {
    switch (line.is) {
      case 'hello':
        return this.#set({ isReadOnly: line.isReadOnly, trouble: null, isShutOut: false });
      case 'list': {
        if (line.changes.length === 0) return this.#set({ mark: line.next });
        const rows = new Map(this.list.rows);
        for (const change of line.changes)
          if (change.is === 'removed') rows.delete(change.id);
          else rows.set(change.row.id, change.row);
        return this.#set({ rows, mark: line.next });
      }
      case 'doing':
        return this.#set({ doing: { ...this.list.doing, ...line.doing } });
      case 'told':
      case 'view':
      case 'trouble':
        return line.key === null ? undefined : this.#takeOf(line.key, line);
    }
  }

  #takeOf(key: string, line: Extract<LiveLine, { is: 'told' | 'view' | 'trouble' }>): void {
    const own = this.#own.get(key);
    if (line.is === 'told') {
      for (const [tab, wants] of this.#others)
        this.#others.set(
          tab,
          wants.map((want) => (want.key === key ? { key, loop: want.loop, from: line.next } : want)),
        );
    }
    if (own === undefined) return;
    if (line.is === 'trouble') return own.listener.trouble(line.message);
    own.listener.trouble(null);
    if (line.is === 'view') return own.listener.view(line.view);
    own.want = { ...own.want, from: line.next };
    own.listener.told(line.told, line.skipped);
  }

  #share(part: Partial<ListNow>): void {
    this.#set(part);
    this.#post({ is: 'list', tab: null, list: this.list });
  }

  #set(part: Partial<ListNow>): void {
    this.list = { ...this.list, ...part };
    for (const onChange of this.#watchers) onChange();
  }
}

const SILENT = 'the server was silent for too long';
/** Several changes of what is shown count as one. */
const WANTS_MS = 30;
/** More than twice the beat of the server. */
const SILENCE_MS = 40_000;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

export const live: Live = new Live();
