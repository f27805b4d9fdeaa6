import type { LoopState, Progress } from './state.ts';

/**
 * The progress after a turn. An iteration makes progress if it ends with a tree and check results that have not occurred
 * together before in this loop: an agent that goes back and forth between two states makes none.
 */
export function progressAfter({ progress, turn }: LoopState): Progress {
  const tree = turn.after?.fingerprint ?? null;
  if (tree === null) return progress;
  const checks = turn.checks.map((result) => (result?.code === 0 ? '+' : '-')).join('');
  const { seen, unchanged } = progress;
  const [pair, bare] = [entry(tree, checks), entry(tree, '')];
  if (seen.includes(pair)) return { seen, unchanged: unchanged + 1 };
  // The tree that the loop found has no check results yet: the first results say nothing about progress.
  const others = seen.filter((one) => one !== bare);
  return {
    seen: [...others, pair].slice(-MAX_SEEN),
    unchanged: others.length < seen.length ? unchanged + 1 : 0,
  };
}

/** The progress before the first iteration, which knows the tree that the loop found. */
export function progressFrom(progress: Progress, tree: string | null): Progress {
  return tree === null || progress.seen.length > 0 ? progress : { ...progress, seen: [entry(tree, '')] };
}

export const NO_PROGRESS: Progress = { seen: [], unchanged: 0 };

/** The state must not grow without bound; an agent that returns to a tree after more iterations than this is not stuck. */
const MAX_SEEN = 1000;

/** 64 bits of the fingerprint are enough to tell a thousand trees apart. */
function entry(tree: string, checks: string): string {
  return `${tree.slice(0, 16)}${checks}`;
}
