/** What completes a loop: how its agent can claim to be done, and the checks that verify it. */
import { claimWays } from '../loop/prompt-plan.ts';
import type { Until } from '../loop/policy.ts';
import { howItFailed } from '../loop/exit-code.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { hideKeys } from '../loop/secrets.ts';

export interface Verification {
  readonly until: Until;
  /** The file whose existence is a claim; null if no file is. */
  readonly doneFile: string | null;
  /** What the agent can print as a claim; null if no text is one, or none that it could be told. */
  readonly words: string | null;
  readonly checks: readonly VerifyingCheck[];
}

/** A check with its last result. */
export interface VerifyingCheck {
  readonly command: string;
  /** Null if it has not run yet. */
  readonly passed: boolean | null;
  /** `exit 1`, `Timeout`; null if it has not failed. */
  readonly failure: string | null;
  /** The copy of its output on the desk. */
  readonly log: string | null;
}

export function verificationOf({ state, report, folder }: LoopReading): Verification {
  const { completion, checks } = state.policy;
  const ways = claimWays(state.policy);
  const marker = ways?.marker ?? null;
  return {
    until: completion.until,
    doneFile: marker === null ? null : folder.desk.marker(marker),
    words: ways?.tag ?? ways?.word ?? null,
    checks: checks.commands.map(({ command }) => {
      const result = report.checks.find((one) => one.command === command)?.result;
      return {
        command: hideKeys(command),
        passed: result === undefined ? null : result.code === 0,
        failure: result === undefined || result.code === 0 ? null : howItFailed(result),
        log: result?.log ?? null,
      };
    }),
  };
}
