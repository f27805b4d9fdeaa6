import { explain, endedStatus } from '../loop/outcome.ts';
import type { LoopState } from '../loop/state.ts';
import type { Account } from './account.ts';
import { preciseLocalTime } from './times.ts';

/** What `state.json` says: document 003's fields, then ours. */
export function stateFile(state: LoopState, known: Account, about: AboutLoop): Record<string, unknown> {
  const { policy, spent } = state;
  const pattern = policy.completion.detectors.find((detector) => detector.kind === 'pattern');
  return {
    worker_name: state.name,
    prompt_file: about.promptFile,
    max_iterations: policy.limits.iterations,
    current_iteration: state.iteration,
    status: loopStatus(state),
    started: time(known.startedAt),
    last_iteration_started: time(known.iteration?.startedAt ?? null),
    consecutive_failures: state.failures.consecutive,
    total_failures: state.failures.total,
    done_pattern: pattern?.pattern ?? null,
    inactivity_timeout: policy.timeouts.inactivityMs === null ? null : policy.timeouts.inactivityMs / 1000,
    preset: policy.preset,
    workspace: about.workspace,
    runs: known.runs,
    rejected_claims: known.rejectedClaims,
    checks: known.checks.map(({ command, result }) => ({ command, exit: result.code, log: result.log })),
    tokens: spent.tokens,
    cost_usd: spent.source === null ? null : spent.usd,
    cost_source: spent.source,
    runs_of_unknown_cost: spent.unknownRuns,
    outcome: state.outcome,
    reason: state.outcome === null ? null : explain(state.outcome, policy),
    ended: time(known.endedAt),
    end: about.end,
  };
}

export interface AboutLoop {
  readonly workspace: string;
  /** Absolute; null where the prompt is a text. */
  readonly promptFile: string | null;
  /** The record of how it ended, once it has. */
  readonly end: unknown;
}

function time(moment: number | null): string | null {
  return moment === null ? null : preciseLocalTime(moment);
}

/** Document 003's four words. */
function loopStatus({ control, outcome }: LoopState): 'running' | 'paused' | 'stopped' | 'failed' {
  if (outcome !== null) return endedStatus(outcome);
  return control.paused ? 'paused' : 'running';
}
