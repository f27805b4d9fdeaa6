/** What a person reads about changed evidence and changed limits. */
import type { LoopEvent } from '../loop/event.ts';
import { changedSentences, failuresOf } from '../loop/evidence.ts';
import { withMore } from '../loop/counted.ts';
import type { LoopState } from '../loop/state.ts';
import type { EndRecord } from '../projections/end-record.ts';

/** Says what an examination found, unless the one before it found the same. */
export function examinedLines(
  event: Extract<LoopEvent, { type: 'evidence.examined' }>,
  { feedback }: LoopState,
): readonly string[] {
  const before = feedback.evidence?.found;
  if (event.problem !== null)
    return before?.problem === event.problem
      ? []
      : [`warning: cannot tell which files that verify the work were changed: ${event.problem}`];
  const known = before === undefined ? [] : changedSentences(before);
  // A protected file that Ralph put back was changed again.
  const isChangedAgain = event.protected > 0 && (feedback.evidence?.restoration ?? null) !== null;
  return changedSentences(event)
    .filter((text) => isChangedAgain || !known.includes(text))
    .map((text) => `warning: ${text}`);
}

export function restoredLines(event: Extract<LoopEvent, { type: 'evidence.restored' }>): readonly string[] {
  const { restored, more, failed } = event;
  return [
    ...(restored.length === 0 ? [] : [`put back before the checks: ${withMore(restored, more)}`]),
    ...(failed.length === 0 ? [] : [`warning: cannot put back ${failuresOf(event)}`]),
  ];
}

/** The rejection of a claim because of protected files. */
export function protectedRejection({
  files = [],
}: Pick<Extract<LoopEvent, { type: 'claim.rejected' }>, 'files'>): string {
  const why =
    files.length === 0
      ? 'protected files cannot be compared with the start'
      : files.length === 1
        ? `a protected file is not as it was at the start: ${files.join('')}`
        : `protected files are not as they were at the start: ${files.join(', ')}`;
  return `claim rejected: the agent says it is done, but ${why}`;
}

/** What the final report and `ralph status` say about the evidence: the files that are changed, and those put back. */
export function evidenceRows({
  evidence,
}: Pick<EndRecord, 'evidence'>): readonly (readonly [string, string])[] {
  const { changed, more, problem, restored, moreRestored } = evidence;
  return [
    ...(problem === null ? [] : [['evidence', `not compared with the start: ${problem}`] as const]),
    ...changedSentences({ changed, more }).map((text) => ['evidence', text] as const),
    ...(restored.length === 0
      ? []
      : [['restored', `changed since the start and put back: ${withMore(restored, moreRestored)}`] as const]),
  ];
}
