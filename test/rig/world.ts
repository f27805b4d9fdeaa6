import type { Taken } from '../../src/engine/ports.ts';
import type { Effect } from '../../src/loop/effect.ts';
import type { Claim } from '../../src/loop/completion.ts';
import type {
  Changes,
  CheckResult,
  Evidence,
  OutputSnapshot,
  Probe,
  Restoration,
  RunEnding,
} from '../../src/loop/event.ts';
import type { PlanProbe } from '../../src/loop/plan.ts';

/**
 * A fake world for a loop: agents that work, make false claims, crash, hang and flood, flaky checks, files that appear. It
 * survives a crash of the driver: the agents keep running.
 */
export class FakeWorld {
  clock: number;
  doneFile = false;
  waitFile = false;
  /** Whether a protected file differs from the start. */
  tampered = false;
  /** Changed by agents. */
  tree = 0;
  /** Changed by checks and commits. */
  #litter = 0;
  readonly busMessages: string[] = [];
  /** Every process that was ever started, by run. */
  readonly processes: Map<string, AgentProcess> = new Map();
  /** Runs whose prompt was written. */
  readonly prompts: Set<string> = new Set();
  #runs = 0;
  #checks = 0;
  #changes = 0;
  readonly #script: WorldScript;

  constructor(script: WorldScript, clock = 1_000_000) {
    this.#script = script;
    this.clock = clock;
  }

  /** Starts an agent; starting the same run again gives the first process. */
  spawn(run: string): AgentProcess {
    const known = this.processes.get(run);
    if (known !== undefined) return known;
    if (this.alive().length > 0)
      throw new Error(`run ${run} started while another runs: ${this.alive().join(', ')}`);
    const script = pick(this.#script.runs, this.#runs++);
    const neverStarted = script.ending.how === 'not-started';
    const process: AgentProcess = {
      run,
      script,
      startedAt: this.clock,
      endsAt: this.clock + script.ms,
      killedAt: neverStarted ? this.clock : null,
    };
    this.processes.set(run, process);
    return process;
  }

  kill(run: string): void {
    const process = this.processes.get(run);
    if (process !== undefined && process.endsAt > this.clock) process.killedAt ??= this.clock;
  }

  /** Advances the clock. */
  advanceTo(moment: number): void {
    this.clock = Math.max(this.clock, moment);
    this.settle();
  }

  /** Applies what ended runs leave behind, whether or not the driver looks. */
  settle(): void {
    for (const process of this.processes.values()) {
      if (process.killedAt !== null || finishedAt(process) > this.clock || process.script.left === true)
        continue;
      const { leaves } = process.script;
      if (leaves?.done === true) this.doneFile = true;
      if (leaves?.wait === true) this.waitFile = true;
      if (leaves?.message !== undefined) this.busMessages.push(leaves.message);
      if (leaves?.change === true) this.tree++;
      if (leaves?.tampers !== undefined) this.tampered = leaves.tampers;
      process.script = { ...process.script, left: true };
    }
  }

  alive(): readonly string[] {
    return [...this.processes.values()]
      .filter(({ endsAt, killedAt }) => endsAt > this.clock && killedAt === null)
      .map(({ run }) => run);
  }

  /** Whether an agent of this run ever started. */
  everStarted(run: string): boolean {
    const process = this.processes.get(run);
    return process !== undefined && process.script.ending.how !== 'not-started';
  }

  /** The output of a run up to a moment, its end or its kill. */
  output(process: AgentProcess, then: number = this.clock): OutputSnapshot {
    const { script, startedAt, killedAt } = process;
    const endsAt = finishedAt(process);
    const until = Math.min(endsAt, killedAt ?? endsAt, then);
    const isFinished = until >= endsAt;
    const { output, resetsInMs } = script;
    return {
      offset: until - startedAt,
      tokens: output?.tokens ?? null,
      cost: output?.cost ?? null,
      steps: output?.steps ?? 0,
      said: isFinished ? (output?.said ?? null) : null,
      claim: isFinished || output?.claimEndsRun === true ? (output?.claim ?? null) : null,
      claimEndsRun: output?.claimEndsRun ?? false,
      limit:
        !isFinished || resetsInMs === undefined
          ? null
          : { resetsAt: resetsInMs === null ? null : endsAt + resetsInMs, message: 'usage limit' },
    };
  }

  check(): CheckResult {
    if (this.#script.litters === true) this.#litter++;
    const code = pick(this.#script.checks, this.#checks++);
    return { code, timedOut: code === null, durationMs: 10, log: 'check.log' };
  }

  examine(): Evidence {
    this.settle();
    const changed = this.tampered
      ? ([{ path: 'check.sh', how: 'changed', as: 'protected' }] as const)
      : ([] as const);
    return { changed, more: 0, protected: changed.length, problem: null };
  }

  restore(): Restoration {
    const files = this.tampered ? ['check.sh'] : [];
    const isStuck = this.#script.stubborn === true;
    if (!isStuck) this.tampered = false;
    return {
      restored: isStuck ? [] : files,
      more: 0,
      failed: isStuck ? files.map((path) => ({ path, reason: 'a folder is in the way' })) : [],
      moreFailed: 0,
    };
  }

  changes(): Changes {
    const found = pick(this.#script.changes ?? ['some'], this.#changes++);
    return {
      any: found === 'some' || found === 'stuck',
      committed: found === 'committed',
      error: found === 'stuck' ? 'a merge is in progress' : null,
    };
  }

  commit(effect: Extract<Effect, { type: 'commit' }>): ReturnType<typeof commitIn> {
    if (this.#script.litters === true) this.#litter++;
    return commitIn(effect);
  }

  record({ fingerprint }: Extract<Effect, { type: 'checkpoint' }>): Taken {
    return { ref: 'ref', error: null, ...(fingerprint ? { fingerprint: this.#fingerprint } : {}) };
  }

  get #fingerprint(): string {
    return `tree-${this.tree}-${this.#litter}`;
  }

  moveAside(markers: readonly string[]): void {
    if (markers.includes('DONE')) this.doneFile = false;
  }

  look({ markers, messages, fingerprint, plan, iteration }: Extract<Effect, { type: 'probe' }>): Probe {
    this.settle();
    const present = new Set([
      ...(this.doneFile ? ['DONE'] : []),
      ...(this.waitFile ? ['WAIT_WITHOUT_RESTART'] : []),
    ]);
    return {
      markers: markers.filter((marker) => present.has(marker)),
      problem: this.#script.problem ?? null,
      messages: messages ? this.busMessages.splice(0) : [],
      fingerprint: fingerprint ? this.#fingerprint : null,
      ...(plan === null ? {} : { plan: planAt(iteration) }),
    };
  }
}

/** A plan of three items, one of which is ticked per iteration; before and after the second it cannot be read. */
function planAt(iteration: number): PlanProbe {
  const done = Math.min(3, iteration - 1);
  return {
    done,
    total: 3,
    missing: 0,
    next: done === 3 ? null : { name: `item ${done + 1}`, within: [], details: '' },
    ticked: done === 0 ? [] : [`item ${done}`],
    moreTicked: 0,
    changed: done === 1 ? false : null,
    problem: iteration === 2 ? 'plan not found: PLAN.md' : null,
  };
}

export interface WorldScript {
  /** One per started process; the last one repeats. */
  readonly runs: readonly RunScript[];
  /** Exit codes, one per check; the last one repeats. */
  readonly checks: readonly (number | null)[];
  /** What there is to commit at each look, `stuck` if a commit is not possible; the last one repeats. */
  readonly changes?: readonly ('some' | 'none' | 'committed' | 'stuck')[];
  /** Why the marker file cannot be used. */
  readonly problem?: string;
  /** Checks and commits write files. */
  readonly litters?: boolean;
  /** Protected files cannot be put back. */
  readonly stubborn?: boolean;
}

export interface RunScript {
  readonly ms: number;
  /** Time after which the agent has finished but keeps running silently. */
  readonly quietAfterMs?: number;
  readonly ending: RunEnding;
  /** Its output; cost and tokens appear in the middle of the run, a claim at its end. */
  readonly output?: Partial<OutputSnapshot>;
  /** The run hits a usage limit that resets this long after its end; null if no reset is stated. */
  readonly resetsInMs?: number | null;
  readonly leaves?: {
    readonly done?: boolean;
    readonly wait?: boolean;
    readonly message?: string;
    readonly change?: boolean;
    /** Changes a protected file, or undoes that. */
    readonly tampers?: boolean;
  };
  /** `leaves` has been applied. */
  readonly left?: boolean;
}

export interface AgentProcess {
  readonly run: string;
  script: RunScript;
  readonly startedAt: number;
  readonly endsAt: number;
  killedAt: number | null;
}

function finishedAt({ script, startedAt, endsAt }: AgentProcess): number {
  return script.quietAfterMs === undefined ? endsAt : startedAt + script.quietAfterMs;
}

function pick<T>(list: readonly T[], index: number): T {
  const item = list[Math.min(index, list.length - 1)];
  if (item === undefined) throw new Error('the script is empty');
  return item;
}

/** The result of a commit. */
function commitIn({ message, commit }: Extract<Effect, { type: 'commit' }>): {
  readonly commit: string | null;
  readonly done: readonly string[];
  readonly error: string | null;
} {
  if (message === 'missing')
    return { commit: null, done: [], error: 'agent did not provide a valid commit message' };
  return { commit: 'c0ffee', done: commit.tasks, error: null };
}

export function exits(code: number | null, more: Partial<RunScript> = {}): RunScript {
  return { ms: 1000, ending: { how: 'exited', code, error: null }, ...more };
}

/** An agent that claims to be done and exits 0. */
export function claims(more: Partial<RunScript> = {}): RunScript {
  const claim: Claim = { by: 'promise-tag', text: '<promise>DONE</promise>' };
  return exits(0, { ...more, output: { claim, ...more.output } });
}

/** A run that hits a usage limit. */
export function limited(resetsInMs: number | null, more: Partial<RunScript> = {}): RunScript {
  const ending: RunEnding = { how: 'exited', code: 1, error: null };
  return { ms: 1000, ending, resetsInMs, ...more, output: { said: 'error', ...more.output } };
}

/** An agent that never exits by itself. */
export function hangs(more: Partial<RunScript> = {}): RunScript {
  return exits(0, { ms: Number.POSITIVE_INFINITY, ...more });
}
