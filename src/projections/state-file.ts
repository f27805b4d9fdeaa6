import { basename, join } from 'node:path';
import type { Happening } from '../loop/event.ts';
import { explain, endedStatus } from '../loop/outcome.ts';
import { fields, fits, whole } from '../loop/shape.ts';
import { knownTokens } from '../loop/spend-text.ts';
import type { LoopState } from '../loop/state.ts';
import { foundAt, textOf, readJsonFile } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { inWorkspaceFolder } from '../workspace/workspace-folder.ts';
import type { WorkspaceFolder } from '../home/home.ts';
import type { LoopReport } from '../loop/report.ts';
import { preciseLocalTime, timeOfDay } from '../text/times.ts';

/**
 * `state.json`. People read it, and document 003 lets them change `max_iterations` in it by hand: where the policy allows
 * it, such an edit is noticed, kept until it is journaled, and then becomes the policy.
 */
export class StateFile {
  readonly #workspaceFolder: WorkspaceFolder;
  /** A limit that a person wrote into the file and that is not journaled yet. */
  #editedLimit: number | null = null;
  /** The limit that this process or an earlier owner wrote last: not an edit. */
  #writtenLimit: number | null = null;
  #writtenAt: number | null = null;

  constructor(workspaceFolder: WorkspaceFolder) {
    this.#workspaceFolder = workspaceFolder;
  }

  get #path(): string {
    return this.#workspaceFolder.stateFile;
  }

  /** Takes up the file that an earlier owner left; a person may have changed it since. */
  open({ created, policy }: LoopState): void {
    const written = readLimit(this.#path);
    if (created && policy.stateEdits && written !== null && written !== policy.limits.iterations)
      this.#editedLimit = written;
    this.#writtenLimit = written;
  }

  /** Takes over from an object that has written the file again. */
  replaceBy(other: StateFile): void {
    this.#writtenLimit = other.#writtenLimit;
  }

  /** A change of the policy overrides an edit. */
  forgetEdit(): void {
    this.#editedLimit = null;
  }

  /** Writes the content, with the limit that a person has edited instead of the one of the policy. */
  write(content: Record<string, unknown>, limit: number | null): void {
    this.#writtenLimit = this.#editedLimit ?? limit;
    // An edit stays in the file until it is journaled, or a crash would lose it.
    const kept = this.#editedLimit === null ? {} : { max_iterations: this.#editedLimit };
    try {
      const text = `${JSON.stringify({ ...content, ...kept }, null, 2)}\n`;
      inWorkspaceFolder(this.#workspaceFolder, this.#workspaceFolder.path, (folder) => {
        const file = join(folder, basename(this.#path));
        // A new owner rarely has anything to change, and to replace a file costs ten times as much as to read it.
        if (textOf(file) !== text) replaceFile(file, text);
      });
    } finally {
      this.#writtenAt = timeOf(this.#path);
    }
  }

  /** Looks for an edit, which the next write must not lose. */
  noticeEdit(): void {
    if (timeOf(this.#path) === this.#writtenAt) return;
    const limit = readLimit(this.#path);
    if (limit !== null && limit !== this.#writtenLimit) this.#editedLimit = limit;
  }

  /** The edit as an event. */
  takeEdit({ policy }: LoopState): readonly Happening[] {
    const limit = this.#editedLimit;
    this.#editedLimit = null;
    if (limit === null || limit === policy.limits.iterations) return [];
    return [
      {
        type: 'policy.changed',
        policy: { ...policy, limits: { ...policy.limits, iterations: limit } },
        by: 'state.json',
      },
    ];
  }
}

/** When a file was changed, in fractions of a millisecond. */
function timeOf(path: string): number | null {
  return foundAt(path)?.mtimeMs ?? null;
}

function readLimit(path: string): number | null {
  const value = readJsonFile(path);
  return isEdit(value) ? value.max_iterations : null;
}

function isEdit(value: unknown): value is { readonly max_iterations: number } {
  return fits(EDIT, value);
}

const EDIT = fields({ max_iterations: whole(1) });

/** The content of `state.json`: document 003's fields, then ours. */
export function stateContent(
  state: LoopState,
  report: LoopReport,
  about: AboutLoop,
): Record<string, unknown> {
  const { policy, spent } = state;
  const pattern = policy.completion.detectors.find((detector) => detector.kind === 'pattern');
  return {
    worker_name: state.name,
    prompt_file: about.promptFile,
    max_iterations: policy.limits.iterations,
    current_iteration: state.iteration,
    status: loopStatus(state),
    started: time(report.startedAt),
    last_iteration_started: time(report.iterations.at(-1)?.startedAt ?? null),
    consecutive_failures: state.failures.consecutive,
    total_failures: state.failures.total,
    done_pattern: pattern?.pattern ?? null,
    inactivity_timeout: policy.timeouts.inactivityMs === null ? null : policy.timeouts.inactivityMs / 1000,
    id: about.id,
    preset: policy.preset,
    workspace: about.workspace,
    runs: report.runs,
    rejected_claims: report.rejectedClaims,
    checks: report.checks.map(({ command, result }) => ({ command, exit: result.code, log: result.log })),
    tokens: knownTokens(spent),
    cost_usd: spent.source === null ? null : spent.usd,
    cost_source: spent.source,
    runs_of_unknown_cost: spent.unknownRuns,
    runs_of_unknown_tokens: spent.unknownTokenRuns,
    runs_of_estimated_output: spent.estimatedOutputRuns,
    outcome: state.outcome,
    reason: state.outcome === null ? null : explain(state.outcome, policy, (at) => timeOfDay(at, Date.now())),
    ended: time(report.endedAt),
    end: about.end,
  };
}

export interface AboutLoop {
  readonly id: string;
  readonly workspace: string;
  /** Absolute; null where the prompt is a text. */
  readonly promptFile: string | null;
  /** The record of how it ended, once it has. */
  readonly end: unknown;
}

function time(moment: number | null): string | null {
  return moment === null ? null : preciseLocalTime(moment);
}

/** The four statuses of document 003. */
function loopStatus({ control, outcome }: LoopState): 'running' | 'paused' | 'stopped' | 'failed' {
  if (outcome !== null) return endedStatus(outcome);
  return control.paused ? 'paused' : 'running';
}
