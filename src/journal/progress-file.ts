import type { LoopEvent } from '../loop/event.ts';
import { cut } from '../loop/excerpt.ts';
import { failureText } from '../loop/failure.ts';
import { didItsTurn, isCutShort } from '../loop/run.ts';
import type { LoopState } from '../loop/state.ts';
import type { Account } from './account.ts';

/** Whether an event closes an iteration; `state` and `known` are as they were before it. */
export function completesIteration(event: LoopEvent, state: LoopState, known: Account): boolean {
  const closes = (event.type === 'timer.fired' && event.key !== 'children') || event.type === 'loop.ended';
  const as = state.turn.run?.ended?.as;
  return closes && as !== undefined && !isCutShort(as) && known.iteration !== null;
}

/** The entry of `progress.md` for the iteration that is being closed; `firstLine` tells what a check complained of. */
export function progressEntry(state: LoopState, known: Account, firstLine: (log: string) => string): string {
  if (known.iteration === null) return '';
  const as = state.turn.run?.ended?.as;
  const { number, startedAt, steps, costBefore } = known.iteration;
  const checks = state.turn.checksStarted ? known.checks : [];
  const ending = state.turn.run?.ended?.ending;
  const error = ending === undefined || as === undefined ? null : failureText(ending, as);
  const passed = didItsTurn(as) && checks.every(({ result }) => result.code === 0);
  const lines = checks.map(({ command, result }) => {
    if (result.code === 0) return `  - ${command}: PASS`;
    const why = result.timedOut ? 'Timeout' : firstLine(result.log);
    return `  - ${command}: FAIL${why === '' ? '' : ` — ${why}`}`;
  });
  return [
    `## Iteration ${number} — ${passed ? 'PASS' : 'FAIL'}`,
    '',
    `- Steps: ${steps}`,
    `- Cost: $${(state.spent.usd - costBefore).toFixed(4)}`,
    `- Duration: ${((state.turn.at - startedAt) / 1000).toFixed(1)}s`,
    ...(error === null ? [] : [`- Error: ${cut(error.replaceAll(/\s+/g, ' '), LONGEST_ERROR)}`]),
    '- Checks:',
    ...lines,
    '',
    '',
  ].join('\n');
}

const LONGEST_ERROR = 200;
