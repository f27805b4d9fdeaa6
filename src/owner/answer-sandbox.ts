/**
 * The owner's side of `ralph` in a sandbox: watches the request folder in the workspace folder and answers.
 *
 * 1. What a request means, and what may be done, is decided by what the owner was given.
 * 2. Child loops are started one after the other, and only so many requests wait at the same time.
 */
import { watchFolder } from '../process/watch.ts';
import { answerRequests, type SandboxAnswer } from '../sandbox/requests.ts';
import type { LoopFolder } from '../home/home.ts';
import { clearGuarded } from '../sandbox/guard.ts';

/** What is asked for in a request; null for one that cannot be read. */
export type SandboxAnswers = (request: unknown) => AskedOfOwner | null;

export interface AskedOfOwner {
  /** Whether it starts a loop. */
  readonly starts: boolean;
  readonly carryOut: () => Promise<SandboxAnswer>;
}

/** Answers requests until the returned function is called. */
export function answerSandbox(folder: string, owner: SandboxOwner): () => void {
  let warnings = 0;
  let isStopped = false;
  const queue = new Queue();
  const answerTo = (value: unknown): Promise<SandboxAnswer> | null => {
    const asked = owner.answers()(value);
    if (asked === null) return null;
    return queue.add(() => {
      if (asked.starts) clearGuarded(owner.folder, owner.say);
      return asked.carryOut();
    }, asked.starts);
  };
  const look = (): void => {
    if (isStopped) return;
    try {
      for (const name of answerRequests(folder, answerTo)) {
        if (warnings++ < MOST_WARNINGS)
          owner.say(
            `warning: a request from the sandbox is unreadable and was moved aside: ${name}.unreadable`,
          );
      }
    } catch {
      // The agent may change the folder meanwhile; the next look comes within a second.
    }
  };
  const stop = watchFolder(folder, look);
  look();
  return () => {
    isStopped = true;
    stop();
  };
}

export interface SandboxOwner {
  readonly folder: LoopFolder;
  readonly say: (line: string) => void;
  readonly answers: () => SandboxAnswers;
}

class Queue {
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** Carries it out now, or with `inTurn` after what came before it. */
  async add(work: () => Promise<SandboxAnswer>, inTurn: boolean): Promise<SandboxAnswer> {
    if (this.#waiting >= MOST_WAITING)
      return { ok: false, message: 'too many requests at the same time; try again', exitCode: 2 };
    this.#waiting++;
    try {
      const before = inTurn ? this.#last : Promise.resolve();
      const done = before.then(work);
      if (inTurn) this.#last = done.catch(() => {});
      return await done;
    } finally {
      this.#waiting--;
    }
  }
}

const MOST_WARNINGS = 20;
const MOST_WAITING = 32;
