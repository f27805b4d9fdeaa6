/**
 * What a loop takes from its bus, where every program can write.
 *
 * 1. Only messages from after the creation of the loop count: a repository may come with a bus.
 * 2. The loop's own posts ask nothing, and its agent is shown only those about its child loops.
 * 3. What is taken is bounded and has no secrets.
 * 4. A bus that cannot be read is like an empty one. The loop says so once and continues.
 * 5. A bus that takes long to read is read less often: all loops of a daemon share its time.
 */
import { messagesAfter } from '../bus/bus.ts';
import type { Message } from '../bus/message.ts';
import { defaultIn } from '../bus/question.ts';
import { foundAt } from '../files/files.ts';
import type { Happening, Probe } from '../loop/event.ts';
import { type Excerpt, excerpt } from '../loop/excerpt.ts';
import { counted } from '../loop/counted.ts';
import type { LoopState } from '../loop/state.ts';
import { postedAt } from '../text/times.ts';
import { taskBus } from '../home/buses.ts';
import type { StartedLoop } from '../home/run-environment.ts';
import { masked } from '../loop/secrets.ts';
import { reasonOf } from '../user-error.ts';

/** The unread messages as a text for the prompt, and the id of the last one. */
export interface Unread {
  readonly text: string;
  readonly upTo: string;
}

export class LoopBus {
  readonly #loop: StartedLoop;
  readonly #say: (line: string) => void;
  #hasWarned = false;
  /** The last message that was looked at for questions, and the file as it was then. */
  #asked: { readonly last: string | null; readonly stamp: string } | null = null;
  /** When `newQuestions` looks again. */
  #notBefore = 0;

  constructor(loop: StartedLoop, say: (line: string) => void) {
    this.#loop = loop;
    this.#say = say;
  }

  /** The types of the messages after this one. */
  probe(after: string | null): Pick<Probe, 'messages' | 'messagesUpTo'> {
    const found = this.#after(after);
    const last = found.at(-1);
    return {
      messages: [...new Set(found.map(({ type }) => type.slice(0, MAX_TYPE)))].slice(0, MAX_TYPES),
      ...(last === undefined ? {} : { messagesUpTo: last.id }),
    };
  }

  /** The messages after this one as a section of the next prompt; null if there are none. */
  unread(after: string | null): Unread | null {
    const found = this.#after(after, ({ meta }) => this.#isOwn(meta) && meta['ralph_child'] === undefined);
    const last = found.at(-1);
    if (last === undefined) return null;
    const texts: string[] = [];
    let length = 0;
    for (const message of found.toReversed()) {
      const text = this.#shown(message);
      length += text.length;
      if (length > MAX_SECTION && texts.length > 0) break;
      texts.unshift(text);
    }
    const left = found.length - texts.length;
    const more = left === 0 ? [] : [`(${counted(left, 'earlier message')} left out: ralph bus read)`];
    return { text: [...more, ...texts].join('\n\n'), upTo: last.id };
  }

  /** Questions that the journal does not have yet, while other things can be done: not soon after a look that took long. */
  newQuestions(state: LoopState): readonly Happening[] {
    const start = performance.now();
    if (start < this.#notBefore) return [];
    const found = this.questions(state);
    const end = performance.now();
    this.#notBefore = end + (end - start) * PAUSE_FACTOR;
    return found;
  }

  /** Questions that the journal does not have yet. */
  questions(state: LoopState): readonly Happening[] {
    const file = foundAt(this.#loop.folder.workspaceFolder.bus);
    if (file === null) return [];
    const stamp = `${file.ino} ${file.size} ${file.mtimeMs}`;
    if (this.#asked?.stamp === stamp) return [];
    const found = this.#after(this.#asked === null ? state.messages.asked : this.#asked.last);
    this.#asked = { last: found.at(-1)?.id ?? this.#asked?.last ?? state.messages.asked, stamp };
    return found.filter(({ type }) => type === 'QUESTION').map((message) => this.#question(message));
  }

  #question(message: Message): Happening {
    const { id, body } = message;
    const byDefault = defaultIn(message);
    return {
      type: 'question.asked',
      id,
      text: this.#cut(body.trim() === '' ? '(a question without words)' : body.trim()),
      default: byDefault === null ? null : this.#cut(byDefault.text),
      timeoutMs: byDefault === null ? null : Math.min(byDefault.afterMs, MAX_TIMEOUT_MS),
    };
  }

  #shown(message: Message): string {
    const { type, runId, body } = message;
    const when = postedAt(message) ?? 'unknown time';
    const from = runId === '' ? '' : ` ${runId}`;
    return `[${when}] ${masked(`(${type})${from}`, this.#loop.env)}\n${this.#cut(body.trimEnd())}`;
  }

  #cut(text: string): string {
    return excerpt(masked(text, this.#loop.env), BODY);
  }

  #isOwn(meta: Message['meta']): boolean {
    return meta['ralph_loop'] === this.#loop.spec.id;
  }

  /** The messages after this one that count. */
  #after(
    id: string | null,
    isLeftOut: (message: Message) => boolean = ({ meta }) => this.#isOwn(meta),
  ): readonly Message[] {
    const { spec, folder } = this.#loop;
    try {
      return messagesAfter(taskBus(folder.workspaceFolder), id).filter(
        (message) => !isLeftOut(message) && !(Date.parse(message.ts) < Date.parse(spec.created)),
      );
    } catch (error) {
      if (!this.#hasWarned) this.#say(`warning: ${reasonOf(error)}`);
      this.#hasWarned = true;
      return [];
    }
  }
}

const PAUSE_FACTOR = 20;
/** A year: a later time may be no date any more. */
const MAX_TIMEOUT_MS = 365 * 24 * 3_600_000;
const MAX_TYPE = 100;
const MAX_TYPES = 100;
const MAX_SECTION = 16_000;
const BODY: Excerpt = { side: 'head', chars: 4000, marker: '\n… (cut: ralph bus read shows all of it)' };
