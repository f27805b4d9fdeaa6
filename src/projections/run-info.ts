/**
 * The folders of the runs in the workspace folder as document 000 has them: `run-info.yaml`, the agent's output, and `output.md`.
 *
 * 1. Everything here is made from the journal and from the logs in the state. Ralph reads none of it.
 * 2. The record of a run is written when its process has started and when it has ended. What could not be written is
 *    offered again with the next event, and the next owner writes the last record again: it may have died before it could.
 * 3. The output is there before the record says that the run has ended.
 */
import type { LoopEvent, RunEnding } from '../loop/event.ts';
import type { Knowledge, LoopReport } from '../loop/report.ts';
import type { LoopState, Run } from '../loop/state.ts';
import { inWorkspaceFolder } from '../workspace/workspace-folder.ts';
import { RUNNING_UNTIL, writeRecord, type RunRecord } from '../home/run-record.ts';
import type { LoopFolder } from '../home/home.ts';

export class RunInfo {
  readonly #folder: LoopFolder;
  readonly #facts: () => RunFacts;
  readonly #mask: (text: string) => string;
  readonly #writeOutput: (run: string) => void;
  /** Records that are not written yet, by run. */
  readonly #pending = new Map<string, RunRecord>();
  /** Whether to write the records of all runs in the journal, or only of the last. */
  readonly #writesAll: boolean;
  #last: { readonly run: string; readonly record: RunRecord } | null = null;
  #isLive = false;

  constructor(folder: LoopFolder, { run, mask, writeOutput }: RunInfoContext, writesAll: boolean) {
    this.#folder = folder;
    this.#facts = run;
    this.#mask = mask;
    this.#writesAll = writesAll;
    this.#writeOutput = writeOutput;
  }

  /** Takes an event, with what is known after it. */
  take(event: LoopEvent, { state, report }: Knowledge): void {
    if (!state.policy.taskFolder) return;
    if (event.type === 'run.started' || event.type === 'run.ended') {
      const run = runOf(state, event.run);
      if (run !== null) this.#put(run.id, this.#record(run, event.at, report));
    }
    // A marker file or a message asks for a person only after the run.
    if (event.type === 'loop.ended' && event.outcome.type === 'waiting' && this.#last !== null) {
      const { exit_code: code, error_summary: _, ...record } = this.#last.record;
      this.#put(this.#last.run, { ...record, exit_code: code, status: 'stopped' });
    }
  }

  goLive(): void {
    this.#isLive = true;
    this.write();
  }

  /** Writes what is pending. */
  write(): void {
    if (!this.#isLive) return;
    for (const [run, record] of this.#pending) {
      try {
        if (record.status !== 'running') this.#writeOutput(run);
        const { workspaceFolder } = this.#folder;
        inWorkspaceFolder(workspaceFolder, workspaceFolder.run(run), (folder) => writeRecord(folder, record));
        this.#pending.delete(run);
      } catch {
        // The workspace folder may be read-only, full or removed.
      }
    }
  }

  #put(run: string, record: RunRecord): void {
    if (!this.#isLive && !this.#writesAll) this.#pending.clear();
    this.#last = { run, record };
    this.#pending.set(run, record);
    this.write();
  }

  #record(run: Run, at: number, report: LoopReport): RunRecord {
    const { workspaceFolder } = this.#folder;
    const { ids, cwd, commandline, agent, idOf } = this.#facts();
    const previous = runBefore(run.id, report);
    const { status, exitCode, summary } = howItEnded(run);
    const pid = run.receipt?.pid ?? 0;
    return {
      version: 1,
      run_id: idOf(run.id),
      ...(ids.parent === '' ? {} : { parent_run_id: ids.parent }),
      ...(previous === null ? {} : { previous_run_id: idOf(previous) }),
      project_id: ids.project,
      task_id: ids.task,
      agent,
      process_ownership: 'managed',
      pid,
      // The agent and everything that it starts have the group of the process above it.
      pgid: pid,
      start_time: new Date(run.plannedAt),
      end_time: run.ended === null ? RUNNING_UNTIL : new Date(at),
      exit_code: exitCode,
      status,
      cwd,
      prompt_path: workspaceFolder.prompt(run.id),
      output_path: workspaceFolder.output(run.id),
      stdout_path: workspaceFolder.stdout(run.id),
      stderr_path: workspaceFolder.stderr(run.id),
      commandline,
      ...(summary === null ? {} : { error_summary: this.#mask(summary) }),
      agent_version: '',
    };
  }
}

export interface RunInfoContext {
  /** What the journal does not say about the runs. */
  readonly run: () => RunFacts;
  /** Puts the output of an ended run in the workspace folder. */
  readonly writeOutput: (run: string) => void;
  /** A text without secrets. */
  readonly mask: (text: string) => string;
}

export interface RunFacts {
  readonly ids: { readonly project: string; readonly task: string; readonly parent: string };
  /** The id of a run outside of its loop. */
  readonly idOf: (run: string) => string;
  readonly agent: string;
  readonly cwd: string;
  /** Without secrets. */
  readonly commandline: string;
}

function runOf({ turn }: LoopState, id: string): Run | null {
  return [turn.run, turn.messageRun].find((run) => run?.id === id) ?? null;
}

/** The run before a run: of the same iteration, or the last one of the iteration before it. */
function runBefore(run: string, { iterations }: LoopReport): string | null {
  const [iteration = 0, number = 0] = run.split('.').map(Number);
  if (number > 1) return `${iteration}.${number - 1}`;
  return iterations.find((one) => one.iteration === iteration - 1)?.run?.run ?? null;
}

/** How a run ended in the words of document 000. */
function howItEnded({ ended }: Run): {
  readonly status: RunRecord['status'];
  readonly exitCode: number;
  readonly summary: string | null;
} {
  if (ended === null) return { status: 'running', exitCode: UNKNOWN, summary: null };
  const { ending, as } = ended;
  const exitCode = ('code' in ending ? ending.code : null) ?? UNKNOWN;
  if (as === 'ok') return { status: 'completed', exitCode, summary: null };
  if (as === 'wait') return { status: 'stopped', exitCode, summary: null };
  return { status: 'failed', exitCode, summary: summaryOf(ending) };
}

const UNKNOWN = -1;

function summaryOf(ending: RunEnding): string {
  switch (ending.how) {
    case 'timed-out':
      return ending.which === 'output' ? 'agent exceeded the output limit' : 'timed out';
    case 'interrupted':
      return 'interrupted';
    case 'not-started':
      return ending.error.message;
    case 'exited':
      if (ending.code === null) return 'agent exited, exit code unknown';
      // Its output reports an error.
      if (ending.code === 0) return ending.error?.message ?? 'agent reported failure';
      return SUMMARIES.get(ending.code) ?? `agent exited with code ${ending.code}`;
  }
}

const SUMMARIES: ReadonlyMap<number, string> = new Map([
  [1, 'agent reported failure'],
  [2, 'agent usage error'],
  [137, 'agent killed (OOM or signal)'],
  [143, 'agent terminated (SIGTERM)'],
]);
