/**
 * The loops for a process in a sandbox, where the state is hidden: the owner of the sandbox's loop answers (`sandbox-answers.ts`).
 * It decides what this sandbox may do, so every verb is asked for.
 */
import { askOwner, MAX_REQUEST_BYTES } from '../sandbox/requests.ts';
import { UserError } from '../user-error.ts';
import type { Call, Loops, Rest } from './loops.ts';
import { requestIn, requestOf } from './request.ts';

/** `folder` is where requests go. */
export function askedLoops(folder: string): Loops {
  const asks = <Verb extends keyof Loops>(verb: Verb): Loops[Verb] => {
    const ask = (...args: readonly unknown[]): Promise<unknown> => asked(folder, verb, args);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the owner carries out the same verb, and its answer is believed
    return ask as Loops[Verb];
  };
  const start = asks('start');
  const wait = asks('wait');
  const changes = asks('changes');
  const events = asks('events');
  return {
    find: asks('find'),
    list: asks('list'),
    strays: asks('strays'),
    changes: (filter, from, call) => {
      const page = changes(filter, from, call);
      return from === null ? page : Promise.race([page, aborted(call, { changes: [], next: from })]);
    },
    get: asks('get'),
    runs: asks('runs'),
    output: asks('output'),
    events: (loop, part, call) => {
      const { from } = part;
      const page = events(loop, part, call);
      return from === null || typeof from === 'string'
        ? page
        : Promise.race([page, aborted(call, { told: [], next: from, after: from.after })]);
    },
    facts: asks('facts'),
    resume: asks('resume'),
    send: asks('send'),
    stopTree: asks('stopTree'),
    kill: asks('kill'),
    diff: asks('diff'),
    patch: asks('patch'),
    rewind: asks('rewind'),
    remove: asks('remove'),
    move: asks('move'),
    merge: asks('merge'),
    removeWorktree: asks('removeWorktree'),
    start: async (request, call) => {
      const { childStart } = await import('./asked-start.ts');
      return start(childStart(request), call);
    },
    wait: (loop, call) => untilRest(() => wait(loop), call),
  };
}

/** Each answer comes after a while, whether the loop rests or not. */
async function untilRest(wait: () => Promise<Rest>, call: Call = {}): Promise<Rest> {
  const stopped = aborted<Rest>(call, { is: 'driven' });
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- until the loop rests
    const rest = await Promise.race([stopped, wait()]);
    if (rest.is !== 'driven' || call.signal?.aborted === true) return rest;
  }
}

/** What a call gives whose signal aborts. */
function aborted<T>({ signal }: Call = {}, value: T): Promise<T> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve(value);
    signal?.addEventListener('abort', () => resolve(value), { once: true });
  });
}

async function asked(folder: string, verb: keyof Loops, args: readonly unknown[]): Promise<unknown> {
  const request = requestOf(verb, args);
  const json = JSON.stringify(request);
  // The owner moves what it cannot read aside, and does not answer.
  if (Buffer.byteLength(json) > MAX_REQUEST_BYTES)
    throw new UserError(
      `this is more than ${MAX_REQUEST_BYTES / 1024} KB, which is too much for one request; put it into a file, and name that file in a short text`,
    );
  if (requestIn(JSON.parse(json)) === null) throw unaskable(verb);
  const answer = await askOwner(folder, request, TIMEOUTS[verb] ?? TIMEOUT_MS);
  if (answer === null) throw unanswered(verb);
  if (answer.ok) return answer.value;
  throw new UserError(answer.message, answer.exitCode);
}

function unaskable(verb: keyof Loops): UserError {
  return new UserError(
    verb === 'send'
      ? 'the message is empty or too long: ralph tell NAME "words for the next prompt"'
      : `inside a sandbox this cannot be asked of the owner (${verb}): an argument has a wrong form`,
  );
}

function unanswered(verb: keyof Loops): UserError {
  const what = READS.has(verb)
    ? 'Nothing was changed'
    : 'Whether it has done so is unknown: ralph status shows it';
  return new UserError(`the owner of this loop does not answer; it may have exited. ${what}`, 1);
}

const READS: ReadonlySet<keyof Loops> = new Set<keyof Loops>([
  'find',
  'list',
  'strays',
  'changes',
  'get',
  'events',
  'runs',
  'output',
  'facts',
  'diff',
  'patch',
  'wait',
]);

const TIMEOUT_MS = 10_000;
/** More than the owner takes for one answer; an owner that takes over needs some time itself. */
const TIMEOUTS: Partial<Record<keyof Loops, number>> = {
  wait: 60_000,
  changes: 60_000,
  events: 60_000,
  output: 60_000,
  facts: 60_000,
  diff: 60_000,
  patch: 60_000,
  start: 120_000,
  stopTree: 60_000,
  send: 30_000,
};
