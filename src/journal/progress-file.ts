import type { LoopEvent } from '../loop/event.ts';
import { cut } from '../loop/excerpt.ts';
import { failureText } from '../loop/failure.ts';
import { costText } from '../loop/report.ts';
import { producedWork, isCutShort } from '../loop/run.ts';
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
  const { number, startedAt, steps } = known.iteration;
  const spent = known.spends.find(({ iteration }) => iteration === number);
  const checks = state.turn.checksStarted ? known.checks : [];
  const ending = state.turn.run?.ended?.ending;
  const error = ending === undefined || as === undefined ? null : failureText(ending, as);
  const verdict = !producedWork(as) || checks.some(({ result }) => result.code !== 0) ? 'FAIL' : 'PASS';
  // What nobody has looked at has not passed.
  const isChecked = checks.length > 0 && checks.length === state.policy.checks.commands.length;
  const lines = checks.map(({ command, result }) => {
    if (result.code === 0) return `  - ${command}: PASS`;
    const why = result.timedOut ? 'Timeout' : firstLine(result.log);
    return `  - ${command}: FAIL${why === '' ? '' : ` — ${why}`}`;
  });
  return [
    `## Iteration ${number} — ${verdict === 'PASS' && !isChecked ? 'UNCHECKED' : verdict}`,
    '',
    `- Steps: ${steps}`,
    `- Cost: ${costText(spent?.usd ?? 0, spent?.unknownRuns === 0)}`,
    `- Duration: ${((state.turn.at - startedAt) / 1000).toFixed(1)}s`,
    ...(error === null ? [] : [`- Error: ${cut(error.replaceAll(/\s+/g, ' '), LONGEST_ERROR)}`]),
    '- Checks:',
    ...lines,
    '',
    '',
  ].join('\n');
}

const LONGEST_ERROR = 200;
