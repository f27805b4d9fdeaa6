/**
 * `ralph watch`: the loops on a terminal, live.
 *
 * 1. It shows what the hall has answered last. It reads no journal, and ending it changes nothing in a loop.
 * 2. What takes long never delays a key: every question to the hall is asked beside the screen.
 */
import { setInterval } from 'node:timers';
import type { LoopRow } from '../loops/list.ts';
import type { Loops, LoopView } from '../loops/loops.ts';
import { visible } from '../text/one-line.ts';
import { openCanvas, type Canvas, type Size, type Terminal } from './canvas.ts';
import type { Key } from './keys.ts';
import { followList, followViews } from './list-feed.ts';
import {
  itemsOf,
  moveSelection,
  nextNeeded,
  ordered,
  selectedRow,
  unfoldTo,
  type Input,
  type Model,
  type Note,
} from './model.ts';
import { messageOf, OpenedLoop, plainLines, TABS } from './opened-loop.ts';
import { carryOut, COMMANDS } from './requests.ts';
import { contentOf, HELP, screenOf } from './screens.ts';
import { lastStart, type Look, type Paint } from './style.ts';

export interface Watched {
  readonly loops: Loops;
  readonly terminal: Terminal;
  /** A folder of the workspace. */
  readonly workspace: string;
  readonly isOfAll: boolean;
  readonly paint: Paint;
  readonly home: string | undefined;
  readonly isForScreenReader: boolean;
  /** The page of `ralph report` for the last night. */
  readonly morning: (isOfAll: boolean) => Promise<string>;
}

/** Shows the loops until the person quits; returns the exit code. */
export async function watch(watched: Watched): Promise<number> {
  const face = new Face(watched);
  return face.run();
}

class Face {
  readonly #watched: Watched;
  readonly #stop = new AbortController();
  readonly #model: Model;
  #list = new AbortController();
  #canvas: Canvas | null = null;
  #size: Size = { columns: 80, rows: 23 };
  #end: (code: number) => void = () => {};
  #fail: (error: unknown) => void = () => {};

  constructor(watched: Watched) {
    this.#watched = watched;
    this.#model = {
      rows: null,
      views: new Map(),
      isOfAll: watched.isOfAll,
      isGrouped: watched.isOfAll,
      filter: '',
      unfolded: new Set(),
      selected: null,
      top: 0,
      opened: null,
      page: null,
      input: null,
      note: null,
    };
  }

  async run(): Promise<number> {
    const ended = new Promise<number>((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    const { isForScreenReader, terminal } = this.#watched;
    this.#canvas = await openCanvas(terminal, {
      frame: (size) => this.#frame(size),
      onKey: (key) => this.#press(key),
      onEnd: (code) => this.#end(code),
      isForScreenReader,
    });
    // Times go on; a screen reader would say them again and again.
    const clock = isForScreenReader ? null : setInterval(() => this.#canvas?.changed(), 1000);
    this.#follow();
    this.#beside(
      followViews(this.#watched.loops, {
        wanted: () => this.#running(),
        views: (views) => this.#see(views),
        signal: this.#stop.signal,
      }),
    );
    try {
      return await ended;
    } finally {
      if (clock !== null) clearInterval(clock);
      this.#canvas.close();
      this.#stop.abort();
      this.#list.abort();
      this.#model.opened?.close();
    }
  }

  #changed(): void {
    this.#canvas?.changed();
  }

  #frame(size: Size): readonly string[] {
    this.#size = size;
    return screenOf(this.#model, this.#look);
  }

  get #look(): Look {
    const { paint, home, isForScreenReader } = this.#watched;
    return { ...this.#size, now: Date.now(), paint, home, isForScreenReader };
  }

  /** A crash of this program ends it, and so gives the terminal back. */
  #beside(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#fail(error);
    });
  }

  #follow(): void {
    this.#list.abort();
    this.#list = new AbortController();
    const { signal } = this.#list;
    const { loops, workspace } = this.#watched;
    this.#model.rows = null;
    this.#beside(
      followList(loops, {
        workspace: this.#model.isOfAll ? null : workspace,
        rows: (rows) => {
          if (!signal.aborted) this.#show(rows);
        },
        signal,
      }),
    );
  }

  #show(rows: readonly LoopRow[]): void {
    const model = this.#model;
    const before =
      model.opened === null ? null : selectedRow({ rows: model.rows, selected: model.opened.ref.id });
    model.rows = ordered(rows);
    // Where the selected loop was removed, the next key must not hit another one.
    if (model.selected === null) moveSelection(model, 0);
    if (model.opened !== null && before !== selectedRow({ rows: model.rows, selected: model.opened.ref.id }))
      model.opened.refresh();
    this.#changed();
  }

  #see(views: ReadonlyMap<string, LoopView>): void {
    const { opened } = this.#model;
    const view = views.get(opened?.ref.id ?? '');
    if (opened !== null && view !== undefined) opened.view = view;
    else this.#model.views = views;
    this.#changed();
  }

  /** The loops on the screen that run, or the one that is open. */
  #running(): readonly LoopRow[] {
    const model = this.#model;
    const opened = this.#subject;
    if (model.opened !== null) return opened === null || opened.owner === null ? [] : [opened];
    const shown = itemsOf(model).slice(model.top, model.top + this.#size.rows);
    return shown.flatMap((item) => (item.is === 'loop' && item.row.owner !== null ? [item.row] : []));
  }

  #press(key: Key): void {
    const { input } = this.#model;
    if (input !== null) this.#type(input, key);
    else if (key.is === 'key') this.#command(key.name);
    this.#changed();
  }

  #type(input: Input, key: Key): void {
    if (key.is === 'paste') input.text += key.text.replaceAll(/[\r\n]+/g, ' ');
    else if (key.name === 'escape') this.#model.input = null;
    else if (key.name === 'enter') this.#enter(input);
    else if (key.name === 'backspace') input.text = Array.from(input.text).slice(0, -1).join('');
    else if (key.name === 'ctrl-u') input.text = '';
    else if (key.name === 'ctrl-w') input.text = input.text.replace(/\S*\s*$/, '');
    else if (Array.from(key.name).length === 1) input.text += key.name;
    if (input.for === 'filter')
      this.#model.filter =
        this.#model.input === null && key.is === 'key' && key.name === 'escape' ? '' : input.text.trim();
  }

  #enter({ for: what, text }: Input): void {
    this.#model.input = null;
    if (what === 'filter') return;
    const words = what === 'command' ? text : `${what} ${text}`;
    if (words.trim() !== '') this.#ask(words);
  }

  /** Carries out a command for the selected loop. */
  #ask(words: string): void {
    const row = this.#subject;
    if (row === null) return this.#say({ text: 'select a loop first', isProblem: true });
    const { id, name, workspace } = row;
    const { loops } = this.#watched;
    const say = (note: Note): void => this.#say(note);
    carryOut(words, { id, name, workspace }, { loops, say, signal: this.#stop.signal }).catch(
      (error: unknown) => this.#say({ text: messageOf(error), isProblem: true }),
    );
  }

  #say({ text, isProblem }: Note): void {
    this.#model.note = { text: visible(text), isProblem };
    this.#changed();
  }

  get #subject(): LoopRow | null {
    const { opened, rows, selected } = this.#model;
    return selectedRow({ rows, selected: opened?.ref.id ?? selected });
  }

  #command(name: string): void {
    const { page, opened } = this.#model;
    if (name === 'q') return this.#end(0);
    if (page !== null) return this.#onPage(name, page);
    if (this.#common(name)) return;
    if (opened === null) this.#onList(name);
    else this.#onLoop(name, opened);
  }

  /** The keys that mean the same in the list and in a loop; false for any other. */
  #common(name: string): boolean {
    const ask = (what: Input['for'], label: string): true => {
      this.#model.input = { for: what, label, text: '' };
      return true;
    };
    const row = this.#subject;
    const of = visible(row?.name ?? 'no loop');
    switch (name) {
      case 'r': {
        const [question] = row?.questions ?? [];
        if (question !== undefined) {
          this.#say({ text: `${of} asks: ${question.text}`, isProblem: false });
          return ask('answer', `answer ${of}:`);
        }
        this.#say({ text: `${of} asks nothing; t tells it something`, isProblem: true });
        return true;
      }
      case 't':
        return ask('tell', `tell ${of}:`);
      case 'l':
        return ask('set', `limits of ${of} (max-iterations=20 max-cost=5):`);
      case 's':
        return ask('stop', `stop ${of} after the running step? Enter yes, now Enter at once, Esc no:`);
      case ':':
        return ask('command', `${of} (${COMMANDS}):`);
      case 'p':
        this.#ask(row?.status === 'running' || row?.status === 'in-session' ? 'pause' : 'resume');
        return true;
      case 'n':
        this.#toNeeded();
        return true;
      case 'm':
        this.#morning();
        return true;
      case '?':
        this.#model.page = { title: 'ralph watch: keys', lines: HELP, scroll: 0 };
        return true;
      default:
        return false;
    }
  }

  #onList(name: string): void {
    const model = this.#model;
    const by = MOVES(this.#size.rows - 4)[name];
    if (by !== undefined) moveSelection(model, by);
    else if (name === 'enter') this.#open();
    else if (name === ' ') this.#fold();
    else if (name === 'a') {
      model.isOfAll = !model.isOfAll;
      model.isGrouped = model.isOfAll;
      this.#follow();
    } else if (name === 'g') model.isGrouped = !model.isGrouped;
    else if (name === '/') model.input = { for: 'filter', label: 'filter:', text: model.filter };
    else if (name === 'escape') {
      model.filter = '';
      model.note = null;
    }
  }

  #onLoop(name: string, opened: OpenedLoop): void {
    const tab = TABS[Number(name) - 1];
    const by = MOVES(this.#size.rows - 5)[name];
    if (name === 'escape') this.#close();
    else if (tab !== undefined) opened.show(tab);
    else if (name === 'tab' || name === 'right') opened.show(after(opened.tab, 1));
    else if (name === 'shift-tab' || name === 'left') opened.show(after(opened.tab, -1));
    else if (name === '[') opened.step(-1);
    else if (name === ']') opened.step(1);
    else if (name === 'x') opened.isFolded = !opened.isFolded;
    else if (by !== undefined) this.#scroll(opened, by);
  }

  #onPage(name: string, page: NonNullable<Model['page']>): void {
    const by = MOVES(this.#size.rows - 2)[name];
    if (name === 'escape' || name === '?') this.#model.page = null;
    else if (by !== undefined) {
      const last = lastStart(page.lines, { columns: this.#size.columns, height: this.#size.rows - 2 });
      page.scroll = Math.min(last, Math.max(0, page.scroll + by));
    }
  }

  /** At the end of a stream, what is shown follows it. */
  #scroll(opened: OpenedLoop, by: number): void {
    const lines = contentOf(opened, this.#look);
    const last = lastStart(lines, { columns: this.#size.columns, height: this.#size.rows - 5 });
    const next = Math.max(0, (opened.scroll ?? last) + by);
    opened.scroll = next < last ? next : opened.tab === 'stream' ? null : last;
  }

  #open(): void {
    const row = selectedRow(this.#model);
    if (row === null) return;
    const { id, name, workspace } = row;
    this.#model.opened?.close();
    this.#model.opened = new OpenedLoop(this.#watched.loops, { id, name, workspace }, () => this.#changed());
  }

  #close(): void {
    this.#model.opened?.close();
    this.#model.opened = null;
  }

  #fold(): void {
    const { selected, unfolded } = this.#model;
    if (selected === null || unfolded.delete(selected)) return;
    unfolded.add(selected);
  }

  #toNeeded(): void {
    const model = this.#model;
    const row = nextNeeded(model);
    if (row === null) return this.#say({ text: 'no loop needs you', isProblem: false });
    model.filter = '';
    unfoldTo(model, row);
    model.selected = row.id;
    if (model.opened !== null) this.#open();
  }

  #morning(): void {
    const page = { title: 'ralph watch: the last 12 hours', lines: ['…'], scroll: 0 };
    this.#model.page = page;
    const show = (lines: readonly string[]): void => {
      if (this.#model.page === page) this.#model.page = { ...page, lines };
      this.#changed();
    };
    this.#watched.morning(this.#model.isOfAll).then(
      (text) => show(plainLines(text)),
      (error: unknown) => show([messageOf(error)]),
    );
  }
}

/** The part after another one, around the end. */
function after(tab: (typeof TABS)[number], by: number): (typeof TABS)[number] {
  return TABS[(TABS.indexOf(tab) + by + TABS.length) % TABS.length] ?? tab;
}

/** How far the keys move that move. */
const MOVES = (screen: number): Readonly<Record<string, number>> => ({
  up: -1,
  k: -1,
  down: 1,
  j: 1,
  'page-up': -Math.max(1, screen),
  'page-down': Math.max(1, screen),
  home: -1_000_000,
  end: 1_000_000,
});
