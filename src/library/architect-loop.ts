/** The loop of document 002 as a class: a new agent from a factory per iteration, until the checks pass and it prints the completion tag. */
import type { IterationReport } from '../loop/iteration-report.ts';
import { learn, NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';
import { openLoop } from './library.ts';
import type { AgentContext, AgentResult } from './function-agent.ts';
import type { LoopSpec } from './loop-spec.ts';
import type { Loop } from './loop.ts';
import { isJournaled, type SeenEvent } from './recent-events.ts';
import { rejectUnknown } from './unknown-options.ts';
import type { LoopResult } from '../loops/result.ts';

/** `RalphConfig` of the document. A limit of 0 means unlimited. */
export interface RalphConfig {
  readonly task: string;
  /** Commands that must exit with 0; at least one. */
  readonly checks: readonly string[];
  /** A file that replaces the task in the prompt, read in every iteration. */
  readonly specFile?: string | null | undefined;
  /** Default: `COMPLETE`. */
  readonly completionTag?: string | undefined;
  /** Default: 25. */
  readonly maxIterations?: number | undefined;
  /** In dollars. */
  readonly maxCost?: number | null | undefined;
  /** In seconds. */
  readonly maxTime?: number | null | undefined;
  /** Default: `build`. */
  readonly agent?: string | undefined;
  readonly model?: string | null | undefined;
  readonly useWorktree?: boolean | undefined;
}

/** Creates the agent of one iteration. If it throws, the iteration fails with that error. */
export type AgentFactory = (options: FactoryOptions) => ArchitectAgent | Promise<ArchitectAgent>;

export interface FactoryOptions {
  readonly agent: string;
  readonly model: string | null;
  readonly workspaceRoot: string;
  /** Everything else that a function agent gets. */
  readonly context: AgentContext;
}

export interface ArchitectAgent {
  /** Returns the final answer, or a result; a missing number of steps counts as 0, a missing cost is unknown. */
  run(prompt: string): Promise<string | AgentResult>;
}

export type ArchitectEvent =
  | {
      readonly type: 'ralph.iteration_start';
      readonly iteration: number;
      readonly maxIterations: number;
      readonly checkCmd: string;
    }
  | {
      readonly type: 'ralph.checks_result';
      readonly iteration: number;
      readonly passed: number;
      readonly total: number;
      readonly allPassed: boolean;
    }
  | {
      readonly type: 'ralph.iteration_done';
      readonly iteration: number;
      readonly status: 'passed' | 'failed';
      /** Runs of unknown cost count as 0. */
      readonly cost: number;
      readonly costIsKnown: boolean;
      /** In seconds. */
      readonly duration: number;
    }
  | {
      readonly type: 'ralph.complete';
      readonly totalIterations: number;
      /** `success`, or the reason why the loop stopped. */
      readonly status: string;
      /** Runs of unknown cost count as 0. */
      readonly totalCost: number;
      readonly costIsKnown: boolean;
    };

export interface ArchitectOptions {
  /** Called with every event, in order; its errors are ignored. */
  readonly onEvent?: ((event: ArchitectEvent) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export class ArchitectLoop {
  readonly config: WholeConfig;
  readonly #factory: AgentFactory;
  readonly #workspace: string;
  readonly #options: ArchitectOptions;
  #loop: Loop | null = null;

  constructor(
    config: RalphConfig,
    factory: AgentFactory,
    workspaceRoot: string = process.cwd(),
    options: ArchitectOptions = {},
  ) {
    rejectUnknown(config, ['task', 'checks', ...Object.keys(DEFAULTS)]);
    this.config = { ...DEFAULTS, ...withoutUndefined(config) };
    this.#factory = factory;
    this.#workspace = workspaceRoot;
    this.#options = options;
  }

  async run(): Promise<LoopResult> {
    let known = NOTHING_KNOWN;
    const loop = await openLoop(this.#spec(), (event) => {
      known = this.#report(known, event);
    });
    this.#loop = loop;
    return loop.run();
  }

  /** Removes the worktree of the last run and its branch, merged or not; false if there is none. */
  async cleanupWorktree(): Promise<boolean> {
    if (this.#loop === null || !this.config.useWorktree) return false;
    const { discardWorktree } = await import('./open-loop.ts');
    return discardWorktree(this.#loop.name, this.#workspace);
  }

  /** Removes the progress file of the last run, and its link `.architect/ralph-progress.md`. */
  async cleanupProgress(): Promise<void> {
    if (this.#loop === null) return;
    const { removeProgress } = await import('../loops/remove.ts');
    removeProgress(this.#workspace, this.#loop.name);
  }

  #spec(): LoopSpec {
    const { task, checks, specFile, completionTag, maxIterations, maxCost, maxTime, agent, model } =
      this.config;
    return {
      preset: 'architect',
      workspace: this.#workspace,
      prompt: task,
      specFile: specFile ?? undefined,
      checks,
      completionTag,
      maxIterations,
      maxCost: limitOf(maxCost),
      maxTime: limitOf(maxTime),
      agent: { run: (context) => this.#iterate(context), name: agent, model: model ?? undefined },
      worktree: this.config.useWorktree,
      signal: this.#options.signal,
    };
  }

  async #iterate(context: AgentContext): Promise<AgentResult> {
    const { agent, model, workspace } = context;
    const made = await this.#factory({ agent, model, workspaceRoot: workspace, context });
    const answer = await made.run(context.prompt);
    const result = typeof answer === 'string' ? { text: answer } : answer;
    return { steps: 0, ...withoutUndefined(result) };
  }

  /** Emits the document's four events for those of the journal. */
  #report(before: Knowledge, event: SeenEvent): Knowledge {
    if (!isJournaled(event)) return before;
    const known = learn(before, event, Number.POSITIVE_INFINITY);
    const { report } = known;
    const last = report.iterations.at(-1);
    if (event.type === 'iteration.started') {
      const { iteration } = event;
      this.#done(before.report.iterations.at(-1));
      const { maxIterations, checks } = this.config;
      this.#emit({ type: 'ralph.iteration_start', iteration, maxIterations, checkCmd: checks.join(', ') });
    } else if (event.type === 'check.finished' && last?.checkResults.length === this.config.checks.length) {
      const { iteration, checkResults, allChecksPassed } = last;
      const passed = checkResults.filter((check) => check.passed).length;
      const total = checkResults.length;
      this.#emit({ type: 'ralph.checks_result', iteration, passed, total, allPassed: allChecksPassed });
    } else if (event.type === 'loop.ended') {
      this.#done(last);
      const status = report.success ? 'success' : (report.stopReason ?? event.outcome.type);
      const { iterations, totalCost, costIsKnown } = report;
      const totalIterations = iterations.length;
      this.#emit({ type: 'ralph.complete', totalIterations, status, totalCost, costIsKnown });
    }
    return known;
  }

  #done(one: IterationReport | undefined): void {
    if (one === undefined) return;
    const { iteration, cost, costIsKnown, allChecksPassed, error } = one;
    const duration = one.duration / 1000;
    const status = allChecksPassed && error === null ? 'passed' : 'failed';
    this.#emit({ type: 'ralph.iteration_done', iteration, status, cost, costIsKnown, duration });
  }

  #emit(event: ArchitectEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch {
      // A failing listener must not stop the loop.
    }
  }
}

const DEFAULTS = {
  specFile: null,
  completionTag: 'COMPLETE',
  maxIterations: 25,
  maxCost: null,
  maxTime: null,
  agent: 'build',
  model: null,
  useWorktree: false,
};

/** An option that is undefined keeps its default. */
function withoutUndefined<T extends object>(given: T): Given<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same fields, without those that are undefined
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Given<T>;
}

type Given<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

type WholeConfig = { readonly [Key in keyof RalphConfig]-?: Exclude<RalphConfig[Key], undefined> };

function limitOf(limit: number | null): number | undefined {
  return limit === null || limit === 0 ? undefined : limit;
}
