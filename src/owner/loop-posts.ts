/**
 * Posts on the message buses what the journal says (`projections/bus-posts.ts`).
 *
 * 1. The loop never waits for a post. Posts are made one after the other, and the owner waits for the last ones before it
 *    gives up the loop.
 * 2. Each post is made once: it carries the number of its event, and the state says up to which event all are made. The next
 *    owner makes those that are missing, unless they are on the bus already.
 * 3. A post that fails is reported and not tried again, nor are those that wait behind it. The report comes once, until a
 *    post succeeds.
 */
import { join } from 'node:path';
import { messagesAfter, post } from '../bus/bus.ts';
import { draft, type Draft, type Message } from '../bus/message.ts';
import { PRIVATE_FILE, textOf } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { readJournal } from '../journal/file.ts';
import type { LoopEvent } from '../loop/event.ts';
import { learn, NOTHING_KNOWN, type Knowledge, type LoopReport } from '../loop/report.ts';
import type { LoopState } from '../loop/state.ts';
import { BusPosts, type Post } from '../projections/bus-posts.ts';
import { readExcerpt } from '../files/excerpts.ts';
import { taskBus } from '../home/buses.ts';
import { runMarker } from '../home/run-environment.ts';
import { idsOf, type Spec } from '../home/spec.ts';
import type { LoopFolder } from '../home/home.ts';
import { reasonOf } from '../user-error.ts';
import { propagateCompletion } from './completion-fact.ts';
import type { LoopObserver } from './observer.ts';

export interface PostingLoop {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  /** A text without secrets. */
  readonly mask: (text: string) => string;
  readonly say: (line: string) => void;
  /** Instead of the bus of the task. */
  readonly post?: ((message: Draft) => Promise<void>) | undefined;
}

/** The posts of one event. */
interface EventPosts {
  readonly number: number;
  readonly posts: readonly Post[];
  readonly after: Knowledge;
}

export class LoopPosts implements LoopObserver {
  readonly #loop: PostingLoop;
  readonly #posts: BusPosts;
  /** The events that were journaled by other owners. */
  readonly #earlier: number;
  #length: number;
  #queue: EventPosts[] = [];
  #work: Promise<void> | null = null;
  #isLive = false;
  #hasWarned = false;

  constructor(loop: PostingLoop, length: number, state: LoopState, earlier: number = length) {
    this.#loop = loop;
    this.#posts = new BusPosts(loop.folder, state);
    this.#earlier = earlier;
    this.#length = length;
  }

  appended(event: LoopEvent, state: LoopState, report: LoopReport): void {
    this.#length++;
    const after = { state, report };
    const posts = this.#posts.take(event, after);
    if (posts.length === 0) return;
    this.#queue.push({ number: this.#length, posts, after });
    if (this.#isLive) this.#work ??= this.#postAll();
  }

  /** Makes the posts that an earlier owner has missed, and from now on those of each event. */
  goLive(): void {
    this.#isLive = true;
    this.#work ??= this.#catchUp().then(() => this.#postAll());
  }

  /** Resolves when all posts are made or have failed. */
  async finish(): Promise<void> {
    if (!this.#isLive) return;
    await this.#work;
    this.#isLive = false;
    this.#note(this.#length);
  }

  async #catchUp(): Promise<void> {
    const posted = Number(textOf(this.#loop.folder.posted, MAX_NUMBER) ?? 0);
    if (!(posted < this.#earlier)) return;
    try {
      const missed = this.#missed(posted);
      const found = messagesAfter(taskBus(this.#loop.folder.workspaceFolder), null);
      const made = new Set(found.filter((message) => this.#isOwn(message)).map(keyOf));
      for (const { number, posts, after } of missed) {
        const missing = posts.filter((one) => !made.has(keyOf(this.#draft(one, number))));
        // The fact is looked for on the bus of the project.
        const completed = posts.some(({ completes }) => completes === true) && missing.length === 0;
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        if (completed) await this.#propagate({ number, posts, after });
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await this.#postEvent({ number, posts: missing, after });
      }
    } catch (error) {
      this.#warn(error);
    } finally {
      this.#note(this.#earlier);
    }
  }

  /** The posts of events that earlier owners journaled and may not have posted. */
  #missed(posted: number): readonly EventPosts[] {
    const { folder } = this.#loop;
    const found: EventPosts[] = [];
    const posts = new BusPosts(folder, NOTHING_KNOWN.state);
    let known = NOTHING_KNOWN;
    let number = 0;
    readJournal(folder.journal, {
      take: (event) => {
        if (++number > this.#earlier) return;
        known = learn(known, event);
        const made = posts.take(event, known);
        if (number > posted && made.length > 0) found.push({ number, posts: made, after: known });
      },
    });
    return found;
  }

  async #postAll(): Promise<void> {
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await this.#postEvent(next);
        this.#note(next.number);
      }
    } finally {
      this.#work = null;
    }
  }

  async #postEvent(event: EventPosts): Promise<void> {
    try {
      for (const one of event.posts) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await this.#post(this.#draft(one, event.number));
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        if (one.completes === true) await this.#propagate(event);
      }
      if (event.posts.length > 0) this.#hasWarned = false;
    } catch (error) {
      // What waits behind it would wait as long for the same lock.
      this.#queue = [];
      this.#warn(error);
    }
  }

  /** Tells the project that the task is complete; the task is complete even if that fails. */
  async #propagate({ number, after }: EventPosts): Promise<void> {
    const { folder } = this.#loop;
    const own = this.#draft({ type: 'INFO', body: '' }, number);
    try {
      await propagateCompletion(folder, after, own);
    } catch (error) {
      const body = this.#loop.mask(`task completion fact propagation failed: ${reasonOf(error)}`);
      this.#warn(error);
      await this.#post({ ...own, type: 'ERROR', body });
    }
  }

  async #post(message: Draft): Promise<void> {
    const { folder, post: take } = this.#loop;
    await (take === undefined ? post(taskBus(folder.workspaceFolder), message) : take(message));
  }

  #draft({ type, body, run, parents = [], child }: Post, number: number): Draft {
    const { spec, mask } = this.#loop;
    const more = type === 'RUN_CRASH' && run !== undefined ? this.#stderr(run) : '';
    const ids = idsOf(spec);
    return draft({
      type,
      projectId: ids.project,
      taskId: ids.task,
      runId: run === undefined ? '' : runMarker(spec, run).value,
      parents,
      meta: {
        ralph_loop: spec.id,
        ralph_event: String(number),
        ...(child === undefined ? {} : { ralph_child: child }),
      },
      body: cut(`${mask(body)}${more}`),
    });
  }

  #stderr(run: string): string {
    const { folder, mask } = this.#loop;
    const read = readExcerpt(join(folder.run(run), 'stderr.log'), {
      side: 'tail',
      // More than is shown: a part of a secret cannot be recognised.
      chars: 2 * MAX_CHARS,
      marker: '',
    });
    const lines = mask(read).trimEnd().split('\n').slice(-STDERR_LINES);
    return `\n\n## stderr (last ${STDERR_LINES} lines)\n\n${lines.join('\n').slice(-MAX_CHARS)}`;
  }

  #isOwn({ meta }: Message): boolean {
    return meta['ralph_loop'] === this.#loop.spec.id;
  }

  /** Everything up to this event is posted. */
  #note(number: number): void {
    try {
      replaceFile(this.#loop.folder.posted, `${number}\n`, { mode: PRIVATE_FILE });
    } catch {
      // The next owner looks at the bus for what is posted already.
    }
  }

  #warn(error: unknown): void {
    if (!this.#hasWarned) this.#loop.say(`warning: ${reasonOf(error)}; the loop continues without it`);
    this.#hasWarned = true;
  }
}

/** The length of a number in a file. */
const MAX_NUMBER = 100;
const STDERR_LINES = 50;
const MAX_CHARS = 32 * 1024;

/** Longer texts than a message can have come from people only, and `ralph tell` has put them into the prompt. */
function cut(body: string): string {
  return body.length <= MAX_BODY_CHARS ? body : `${body.slice(0, MAX_BODY_CHARS)}\n… (cut)`;
}

const MAX_BODY_CHARS = 64 * 1024 - 16;

/** Tells the posts of a loop apart. */
function keyOf({ type, meta, body }: Pick<Draft, 'type' | 'meta' | 'body'>): string {
  return JSON.stringify([meta['ralph_event'], type, body.split('\n', 1)[0]]);
}
