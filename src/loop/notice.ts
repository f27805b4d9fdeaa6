/**
 * What a person who is away is told of a loop: a fold of the journal with one row per kind of notice.
 *
 * 1. A row names the state that the loop is in. A notice is due when the loop enters it, and once more only after it has left it.
 * 2. A state that is entered again within a minute is not told of again.
 * 3. The same journal gives the same notices, so that the next owner knows what an earlier one had to send.
 */
import { decide } from './decide.ts';
import type { LoopEvent } from './event.ts';
import { NEAR } from './limit-notices.ts';
import type { LoopState } from './state.ts';

/** A state that the loop has entered with an event. */
export interface Notice {
  readonly kind: NoticeKind;
  /** The number of the event in the journal, from 1. */
  readonly number: number;
  readonly at: number;
  /** Which of the states of its kind it is: the limit, the question, the iteration, or why a loop is set aside. */
  readonly about: string;
  /** Null for what the journal does not have. */
  readonly event: LoopEvent | null;
  /** After the event. */
  readonly state: LoopState;
}

/** What has to be remembered of the events so far: the last notice of each kind. */
export type NoticeMemory = Readonly<Partial<Record<NoticeKind, Told>>>;

interface Told {
  readonly about: string;
  readonly at: number;
  /** The loop is still in that state. */
  readonly isIn: boolean;
}

/** The notices that are due with an event, and what is remembered after it. */
export function noticesOf(
  memory: NoticeMemory,
  event: LoopEvent,
  number: number,
  [before, state]: readonly [LoopState, LoopState],
): { readonly notices: readonly Notice[]; readonly memory: NoticeMemory } {
  // Most events are these, and none of them changes a state that is told of.
  if (event.type === 'run.output') return { notices: [], memory };
  const notices: Notice[] = [];
  const next: Partial<Record<NoticeKind, Told>> = { ...memory };
  for (const kind of NOTICE_KINDS) {
    const row = ROWS[kind];
    const told = memory[kind];
    const about = row.entered(state, event, before);
    if (about === null) {
      if (told?.isIn === true && row.isLeft?.(state) !== false) next[kind] = { ...told, isIn: false };
      continue;
    }
    if (told?.about === about && (told.isIn || event.at - told.at < SAME_MS)) {
      next[kind] = { ...told, isIn: true };
      continue;
    }
    next[kind] = { about, at: event.at, isIn: true };
    notices.push({ kind, number, at: event.at, about, event, state });
  }
  return { notices, memory: next };
}

/** A state that is entered again within this time is the same to a person. */
const SAME_MS = 60_000;

interface Row {
  /** The state of this kind that the loop is in after an event; null if it is in none. */
  readonly entered: (state: LoopState, event: LoopEvent, before: LoopState) => string | null;
  /** Whether a loop that is in none any more has left the last one; by default it has. */
  readonly isLeft?: (state: LoopState) => boolean;
  /** A person has to do something before the loop can go on. */
  readonly isUrgent?: true;
  /** Sent only where it is asked for. */
  readonly isAsked?: true;
}

/** In the order in which the notices of one event are sent. */
export const NOTICE_KINDS = [
  'iteration.ended',
  'limit.neared',
  'usage-limit.waiting',
  'person.needed',
  'login.expired',
  'limit.reached',
  'loop.stuck',
  'loop.failed',
  'loop.done',
  'loop.set-aside',
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** One row per kind. */
const ROWS: Readonly<Record<NoticeKind, Row>> = {
  'iteration.ended': {
    entered: (state, event, before) => {
      if (event.type === 'loop.ended') return state.turn.run === null ? null : String(state.turn.iteration);
      return state.turn.iteration > before.turn.iteration ? String(before.turn.iteration) : null;
    },
    isLeft: () => false,
    isAsked: true,
  },
  'limit.neared': {
    entered: (state, event) => {
      if (event.type === 'limit.neared') return event.limit;
      return event.type === 'iteration.started' && nearsIterations(state) ? 'iterations' : null;
    },
  },
  'usage-limit.waiting': {
    entered: (state) => (waitsLong(state) ? 'usage-limit' : null),
    // The loop tries again from time to time, and waits for the same limit then.
    isLeft: ({ rung, turn, outcome }) => outcome !== null || (rung === 0 && turn.sharedLimit === null),
  },
  'person.needed': {
    entered: ({ outcome, questions: [question] }) => {
      if (outcome !== null) return outcome.type === 'waiting' ? 'waiting' : null;
      return question === undefined ? null : `question ${question.id}`;
    },
    isUrgent: true,
  },
  'login.expired': {
    entered: (state) => (isLoginExpired(state) ? 'login' : null),
    isUrgent: true,
  },
  'limit.reached': { entered: outcomeOf(/-exhausted$/, /^failures/) },
  'loop.stuck': { entered: outcomeOf(/^stuck$/) },
  'loop.failed': {
    entered: (state) =>
      isLoginExpired(state) ? null : outcomeOf(/^(?:failures-exhausted|prompt-lost|bad-input|fatal)$/)(state),
  },
  'loop.done': { entered: outcomeOf(/^done$/) },
  // The daemon tells of it: a loop that it leaves alone journals nothing.
  'loop.set-aside': { entered: () => null, isUrgent: true },
};

/** What is sent where nothing else is asked for. */
export const USUAL_KINDS: readonly NoticeKind[] = NOTICE_KINDS.filter((kind) => ROWS[kind].isAsked !== true);

export function isUrgent(kind: NoticeKind): boolean {
  return ROWS[kind].isUrgent === true;
}

/** The place of a notice among all of its loop, by which an outbox knows what it has sent. */
export interface NoticePlace {
  readonly number: number;
  readonly kind: NoticeKind;
}

export function comesAfter(notice: NoticePlace, sent: NoticePlace | null): boolean {
  if (sent === null || notice.number !== sent.number) return sent === null || notice.number > sent.number;
  return NOTICE_KINDS.indexOf(notice.kind) > NOTICE_KINDS.indexOf(sent.kind);
}

function outcomeOf(type: RegExp, but?: RegExp): (state: LoopState) => string | null {
  return ({ outcome }) =>
    outcome !== null && type.test(outcome.type) && but?.test(outcome.type) !== true ? outcome.type : null;
}

/** Whether the loop has ended because its provider refuses the agent's credentials. */
function isLoginExpired({ outcome, turn }: LoopState): boolean {
  const ending = turn.run?.ended?.ending;
  const error = ending !== undefined && 'error' in ending ? ending.error : null;
  return outcome?.type === 'fatal' && error?.kind === 'authentication';
}

/** Whether the iteration that starts is the first after 80 % of the limit on iterations; every line of the loop counts them, so no event does. */
function nearsIterations({ iteration, policy }: LoopState): boolean {
  const of = policy.limits.iterations;
  const used = iteration - 1;
  return of !== null && used < of && used >= of * NEAR && used - 1 < of * NEAR;
}

function waitsLong(state: LoopState): boolean {
  const wait = decide(state).find((effect) => effect.type === 'wait');
  return wait?.why === 'usage-limit' && wait.until !== null && wait.until - state.now > LONG_WAIT_MS;
}

/** A shorter wait for a usage limit is over before a person could do much about it. */
const LONG_WAIT_MS = 3_600_000;
