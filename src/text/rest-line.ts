import type { WordingPolicy } from '../loop/policy.ts';
import type { LoopState } from '../loop/state.ts';
import type { LoopView, Rest } from '../loops/loops.ts';
import { oneLine } from './one-line.ts';
import { filled } from './wording.ts';

/** What `ralph wait` says about a loop that is not running any more, and how it exits: as the loop does. */
export interface RestLine {
  readonly line: string;
  readonly exitCode: number;
}

/** `state` is from before the wait. */
export function waitedLine(name: string, state: LoopState, rest: Rest): RestLine {
  switch (rest.is) {
    case 'driven':
      return { line: `${name}: still running (timeout)`, exitCode: 1 };
    case 'removed':
      return removedLine(name, state);
    case 'resting':
      return restLine(rest.loop);
  }
}

function restLine({ name, state, trouble, summary: { record } }: LoopView): RestLine {
  if (trouble !== null) return { line: `${name}: ${trouble}`, exitCode: 2 };
  const { status, reason, exitCode, next } = record;
  if (state.outcome === null) return { line: `${name}: ${status}; continue it with: ${next}`, exitCode };
  return (
    documentedLine(state.policy.wording, name) ?? {
      line: `${name}: ${oneLine(reason)}`,
      exitCode,
    }
  );
}

/** About a loop whose files are gone; its outcome is unknown. */
function removedLine(name: string, { policy }: LoopState): RestLine {
  return documentedLine(policy.wording, name) ?? { line: `${name}: removed`, exitCode: 1 };
}

/** Where a document prescribes the line, it prescribes the exit code 0 too. */
function documentedLine({ exitedLine }: WordingPolicy, name: string): RestLine | null {
  return exitedLine === null ? null : { line: filled(exitedLine, { name }), exitCode: 0 };
}
