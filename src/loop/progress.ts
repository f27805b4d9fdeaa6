import type { Outcome } from './outcome.ts';
import { producedWork } from './run.ts';
import type { LoopState, Progress, Turn } from './state.ts';

/**
 * The progress after a turn. An iteration makes progress if it ends with a tree and check results that have not occurred
 * together before in this loop: an agent that goes back and forth between two states makes none. A run that leaves the tree
 * as it found it leaves what the run before it left: what checks and commits have written between them is not its work.
 */
export function progressAfter({ progress, turn }: LoopState): Progress {
  const after = turn.after?.fingerprint ?? null;
  const left = after !== null && after === progress.found ? progress.left : after;
  const found = after === null ? null : treeNow(turn, after);
  const { seen, unchanged } = progress;
  if (left === null || !producedWork(turn.run?.ended?.as)) return { seen, unchanged, left, found };
  const checks = turn.checks.map((result) => (result?.code === 0 ? '+' : '-')).join('');
  const [pair, bare] = [entry(left, checks), entry(left, '')];
  if (seen.includes(pair)) return { seen, unchanged: unchanged + 1, left, found };
  // The tree that the loop found has no check results yet: the first results say nothing about progress.
  const others = seen.filter((one) => one !== bare);
  return {
    seen: [...others, pair].slice(-MAX_SEEN),
    unchanged: others.length < seen.length ? unchanged + 1 : 0,
    left,
    found,
  };
}

/** Whether the loop looks for progress: a limit may end it without any, or a notice is still to come. */
export function watchesProgress({ policy: { limits }, noticed }: LoopState): boolean {
  return limits.unchanged !== null || (limits.unchangedNotice !== null && noticed.unchanged === null);
}

/** The outcome of a loop that has made no progress for as many iterations as its limit says. */
export function stuck(state: LoopState): Outcome | null {
  const limit = state.policy.limits.unchanged;
  if (limit === null || !producedWork(state.turn.run?.ended?.as)) return null;
  const { unchanged } = progressAfter(state);
  return unchanged >= limit.end ? { type: 'stuck', unchanged } : null;
}

/** The tree that the next run finds; null if it is not known. */
function treeNow(turn: Turn, after: string): string | null {
  return turn.recorded ?? (mayHaveChanged(turn) ? null : after);
}

/** Whether something may have changed the tree since the probe after the run. */
export function mayHaveChanged({ checksStarted, committed, restoration }: Turn): boolean {
  return checksStarted || committed || restoration !== null;
}

/** Whether the probe before the run has to find out which tree it finds; not after a run that was cut short and may have worked. */
export function needsTree({ progress, turn }: LoopState): boolean {
  return progress.found === null && turn.runs === 0;
}

/** The progress before a run, whose tree a probe has found. Before the first iteration it is the one that the loop found. */
export function progressFrom(progress: Progress, tree: string | null): Progress {
  if (tree === null) return progress;
  const seen = progress.seen.length > 0 ? progress.seen : [entry(tree, '')];
  return { ...progress, seen, left: progress.left ?? tree, found: tree };
}

export const NO_PROGRESS: Progress = { seen: [], unchanged: 0, left: null, found: null };

/** The state must not grow without bound; an agent that returns to a tree after more iterations than this is not stuck. */
const MAX_SEEN = 1000;

/** 64 bits of the fingerprint are enough to tell a thousand trees apart. */
function entry(tree: string, checks: string): string {
  return `${tree.slice(0, 16)}${checks}`;
}

/** The agent's last answer, as far as it shows that nothing happens any more. */
export interface Repeats {
  /** Identifies the answer; null if the agent has called a tool, or if the answer is not known. */
  readonly answer: string | null;
  /** The tree after it; null if it is not known, and then no tool call has changed it. */
  readonly tree: string | null;
  /** How many times in a row the same answer came with the same tree. */
  readonly times: number;
}

export const NO_REPEATS: Repeats = { answer: null, tree: null, times: 0 };

/** The repeats after a turn. A run that was cut short says nothing. */
export function repeatsAfter({ repeats, turn: { run, recorded } }: LoopState): Repeats {
  if (!producedWork(run?.ended?.as)) return repeats;
  const answer = run?.output.answer ?? null;
  if (answer === null) return NO_REPEATS;
  const isSame = answer === repeats.answer && recorded === repeats.tree;
  return { answer, tree: recorded, times: isSame ? repeats.times + 1 : 1 };
}

/** Whether the tree tells if an answer is a repetition: a person may have changed a file. */
export function watchesTree({ policy, turn }: LoopState): boolean {
  return policy.limits.repeats !== null && turn.run?.output.answer !== undefined;
}

/** The outcome of a loop whose agent has repeated its answer as many times as its limit says. */
export function repeating(state: LoopState): Outcome | null {
  const limit = state.policy.limits.repeats;
  if (limit === null || !producedWork(state.turn.run?.ended?.as)) return null;
  const { times } = repeatsAfter(state);
  return times >= limit ? { type: 'stuck', unchanged: times, sameAnswer: true } : null;
}
