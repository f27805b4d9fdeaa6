/** Why a loop is not done: its failing checks with what they printed, its rejected claim, and what it waits for. */
import { howItFailed } from '../loop/exit-code.ts';
import type { LoopFacts } from '../loops/facts.ts';
import type { LoopView } from '../loops/loops.ts';
import { brief, visible } from './one-line.ts';
import { failingSince } from './status.ts';

export interface Obstacle {
  readonly title: string;
  /** What a check has printed: the failing tests, or its last lines. */
  readonly output: string | null;
}

/** The first is the one to look at; none if the loop is done. `facts` are null until they are read. */
export function whyNotDone(
  { summary, report, state }: Pick<LoopView, 'summary' | 'report' | 'state'>,
  facts: Pick<LoopFacts, 'checks' | 'night'> | null,
): readonly Obstacle[] {
  if (summary.status === 'done') return [];
  const failing = report.checks
    .filter(({ result }) => result.code !== 0)
    .map(({ command, result }): Obstacle => {
      const output = facts?.checks.find((one) => one.command === command)?.output ?? null;
      return {
        title: `${brief(command)} failed (${howItFailed(result)})${failingSince(command, report)}`,
        output,
      };
    });
  const rejected = rejection(report, facts);
  const texts = [
    ...(rejected === null ? [] : [rejected]),
    ...(summary.waiting === null ? [] : [`it waits: ${visible(summary.waiting)}`]),
    ...(summary.reason === null ? [] : [visible(summary.reason)]),
  ];
  if (failing.length > 0) return [...failing, ...texts.map(plain)];
  const checks = state.policy.checks.commands.length;
  const open =
    checks === 0
      ? 'the agent has not claimed to be done'
      : report.checks.length < checks
        ? 'not every check has run yet'
        : 'every check passes, and the agent has not claimed to be done';
  return [...texts, ...(summary.reason === null && rejected === null ? [open] : [])].map(plain);
}

function rejection(
  { lastRejection }: LoopView['report'],
  facts: Pick<LoopFacts, 'night'> | null,
): string | null {
  if (lastRejection === null) return null;
  const { iteration, failed } = lastRejection;
  const files = facts?.night?.rejections.find((one) => one.iteration === iteration)?.files ?? [];
  const why =
    failed.length > 0
      ? `failed: ${failed.map(brief).join(', ')}`
      : files.length > 0
        ? `protected files had changed: ${files.map(visible).join(', ')}`
        : 'the run did not succeed';
  return `the claim of iteration ${iteration} was rejected, ${why}`;
}

function plain(title: string): Obstacle {
  return { title, output: null };
}
