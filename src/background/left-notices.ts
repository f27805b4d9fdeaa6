import { isEnlisted } from '../home/background.ts';
import { forgetUnsent, unsent } from '../home/notice-secrets.ts';
import { sendLeft } from '../owner/left-notices.ts';
import { reasonOf } from '../user-error.ts';
import { loopInLog } from './log.ts';

/** Sends the notices of loops that no process drives: those that their last owner could not send. */
export class LeftNotices {
  readonly #log: (line: string) => void;
  readonly #sending = new Map<string, AbortController>();

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  get isBusy(): boolean {
    return this.#sending.size > 0;
  }

  /** Starts what is to be sent, and stops where the loop has an owner again. */
  look(): void {
    const wanted = unsent().filter((id) => !isEnlisted(id));
    for (const [id, stop] of this.#sending) if (!wanted.includes(id)) stop.abort();
    for (const id of wanted) if (!this.#sending.has(id)) void this.#send(id);
  }

  close(): void {
    for (const stop of this.#sending.values()) stop.abort();
  }

  async #send(id: string): Promise<void> {
    const stop = new AbortController();
    this.#sending.set(id, stop);
    try {
      await sendLeft(id, (line, loop) => this.#log(`${loopInLog(loop)}: ${line}`), stop.signal);
    } catch (error) {
      this.#log(`cannot send the notices of ${id}: ${reasonOf(error)}`);
      forgetUnsent(id);
    } finally {
      this.#sending.delete(id);
    }
  }
}
