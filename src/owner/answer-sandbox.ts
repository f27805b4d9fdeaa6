/**
 * The owner's side of `ralph` in a sandbox: watches the request folder on the desk and answers.
 *
 * 1. A request concerns the loop itself, or a loop below it. Everything else does not exist for a sandbox.
 * 2. Child loops are started one after the other, and only so many requests wait at the same time.
 */
import { watchFolder } from '../process/watch.ts';
import type { ChildStart, SandboxRequest } from '../sandbox/request-shape.ts';
import { answerRequests, type SandboxAnswer } from '../sandbox/requests.ts';
import { descendsFrom, loopOf } from '../store/enclosing-runs.ts';
import { findFolder } from '../store/read-loop.ts';
import { treeOf, type Spec } from '../store/spec.ts';
import type { LoopFolder } from '../store/store.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { lookAtGuarded } from './sandboxed-agent.ts';

/** What a front end shows of a loop. */
export interface Described {
  readonly text: string;
  readonly summary: unknown;
}

/** What the front end of an owner does for its sandbox. */
export interface SandboxFront {
  /** A loop as `ralph status` shows it. */
  readonly describe: (folder: LoopFolder) => Described;
  readonly start: (start: ChildStart) => Promise<Described>;
  /** Waits until a loop rests, for a limited time. */
  readonly wait: (folder: LoopFolder) => Promise<Described>;
  readonly stop: (folder: LoopFolder, now: boolean) => Promise<Described>;
}

/** Answers requests until the returned function is called. */
export function answerSandbox(folder: string, owner: SandboxOwner): () => void {
  let warnings = 0;
  let isStopped = false;
  const queue = new Queue();
  const look = (): void => {
    if (isStopped) return;
    try {
      for (const name of answerRequests(folder, (request) => answerTo(request, owner, queue))) {
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
  readonly spec: Spec;
  readonly folder: LoopFolder;
  readonly tell: (text: string) => void;
  readonly say: (line: string) => void;
  readonly front: () => SandboxFront;
}

/** What takes time. */
class Queue {
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** Carries it out now, or with `inTurn` after what came before it; a refusal becomes an answer. */
  async add(work: () => Promise<Described>, inTurn = false): Promise<SandboxAnswer> {
    if (this.#waiting >= MOST_WAITING)
      return { ok: false, message: 'too many requests at the same time; try again' };
    this.#waiting++;
    try {
      const before = inTurn ? this.#last : Promise.resolve();
      const done = before.then(work);
      if (inTurn) this.#last = done.catch(() => {});
      return { ok: true, ...(await done) };
    } catch (error) {
      return { ok: false, message: reasonOf(error) };
    } finally {
      this.#waiting--;
    }
  }
}

function answerTo(
  request: SandboxRequest,
  owner: SandboxOwner,
  queue: Queue,
): SandboxAnswer | Promise<SandboxAnswer> {
  const { spec, folder, front } = owner;
  const { name } = spec;
  if (request.type === 'start')
    return queue.add(() => {
      lookAtGuarded(folder, owner.say);
      return front().start(request);
    }, true);
  const isOwn = request.loop === null || request.loop === name;
  const found = isOwn ? folder : findBelow(spec, request.loop ?? name);
  if (found === null)
    return {
      ok: false,
      message: `a sandbox has only its own loop, ${JSON.stringify(name)}, and the child loops that it has started; got ${JSON.stringify((request.loop ?? '').slice(0, 100))}`,
    };
  switch (request.type) {
    case 'status':
      return { ok: true, ...front().describe(found) };
    case 'tell':
      if (!isOwn) return { ok: false, message: `inside a sandbox, ralph tell works only for ${name}` };
      owner.tell(request.text);
      return { ok: true, text: `delivered to ${name}; it goes into the next prompt`, summary: null };
    case 'wait':
    case 'stop':
      if (isOwn)
        return {
          ok: false,
          message: `"${name}" is the loop of this run; ralph ${request.type} works for its child loops`,
        };
      return queue.add(() =>
        request.type === 'wait' ? front().wait(found) : front().stop(found, request.now),
      );
  }
}

/** A loop below this one; in a sandbox all of them have the same workspace. */
function findBelow(spec: Spec, name: string): LoopFolder | null {
  const folder = findFolder(treeOf(spec), name);
  const below = folder === null ? null : loopOf({ loop: folder.id });
  return below !== null && descendsFrom(below, { loop: spec.id }) ? folder : null;
}

/** For the loop of a program, which has no front end. */
export const NO_FRONT: SandboxFront = {
  describe: ({ name }) => ({ text: `loop ${name} is running`, summary: null }),
  start: refuse,
  wait: refuse,
  stop: refuse,
};

function refuse(): Promise<never> {
  return Promise.reject(new UserError('the program that owns this loop starts no child loops'));
}

const MOST_WARNINGS = 20;
const MOST_WAITING = 32;
