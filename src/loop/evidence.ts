/**
 * The files that a verdict rests on: those that checks run, tests, what the user protects, and the file of the prompt. They
 * are compared with the start after every run, and before a claim is judged.
 */
import { openClaim } from './claim.ts';
import type { Effect } from './effect.ts';
import type { Evidence, Restoration } from './event.ts';
import type { Policy } from './policy.ts';
import type { EvidenceFeedback, LoopState } from './state.ts';

/** Compares the files with the start, and puts protected ones back where the policy says so. */
export function examineEvidence(state: LoopState): readonly Effect[] | undefined {
  const { policy, turn, start } = state;
  if (start === null || !isWatching(state)) return undefined;
  // Before a run nothing has changed since the last look, unless a run was cut short: only its claim is of interest.
  if (turn.run === null && openClaim(state) === null) return undefined;
  const key = `${turn.iteration}.${turn.runs}:${turn.run === null ? 'before' : 'after'}`;
  if (turn.evidence === null) return [{ type: 'examine', key: `examine:${key}`, start }];
  const isToRestore = policy.evidence.onProtectedChange === 'restore' && turn.evidence.protected > 0;
  if (!isToRestore || turn.restoration !== null) return undefined;
  return [{ type: 'restore', key: `restore:${key}`, start }];
}

/** Whether a loop compares files with its start. */
export function isWatching({ policy, start }: Pick<LoopState, 'policy' | 'start'>): boolean {
  if (start === null) return false;
  const hasPrompt = start.prompt !== undefined && policy.evidence.promptFile === 'always';
  return hasPrompt || hasEvidence(policy);
}

/** Whether a policy has files that the evidence rests on. A loop without checks has no evidence of its own. */
export function hasEvidence({ checks, evidence }: Policy): boolean {
  return checks.commands.length > 0 || evidence.protect.length > 0;
}

/** Why the evidence rejects a claim: the names of protected files that differ from the start; null if it does not. */
export function rejectingFiles({ policy, turn }: LoopState): readonly string[] | null {
  const { protect, onProtectedChange } = policy.evidence;
  const { evidence, restoration } = turn;
  if (evidence === null || protect.length === 0 || onProtectedChange === 'warn') return null;
  // What cannot be compared may have been changed.
  if (evidence.problem !== null) return [];
  if (restoration !== null)
    return restoration.failed.length === 0 ? null : restoration.failed.map(({ path }) => path);
  if (evidence.protected === 0) return null;
  return evidence.changed.filter(({ as }) => as === 'protected').map(({ path }) => path);
}

/** What the next prompt says; null if there is nothing to say. */
export function evidenceFeedback(
  found: Evidence | null,
  restoration: Restoration | null,
): EvidenceFeedback | null {
  if (found === null || (found.changed.length === 0 && found.problem === null)) return null;
  return { found, restoration };
}
