import type { Effect } from '../../src/loop/effect.ts';
import type { Claim } from '../../src/loop/completion.ts';
import type { Changes, CheckResult, OutputSnapshot, Probe, RunEnding } from '../../src/loop/event.ts';

/**
 * A world for a loop to live in: agents that work, lie, crash, hang and flood, checks that flap, files that
 * appear. It outlives the harness: when that dies, the agents go on.
 */
export class FakeWorld {
  clock: number;
  doneFile = false;
  waitFile = false;
  tree = 0;
  readonly busMessages: string[] = [];
  /** Every process that was ever started, by run. */
  readonly processes: Map<string, AgentProcess> = new Map();
  /** The runs whose prompt was written. */
  readonly prompts: Set<string> = new Set();
  #runs = 0;
  #checks = 0;
  #changes = 0;
  readonly #script: WorldScript;

  constructor(script: WorldScript, clock = 1_000_000) {
    this.#script = script;
    this.clock = clock;
  }

  /** Starts an agent; a second start of the same run finds the first one. */
  spawn(run: string): AgentProcess {
    const known = this.processes.get(run);
    if (known !== undefined) return known;
    if (this.alive().length > 0) throw new Error(`run ${run} started beside ${this.alive().join(', ')}`);
    const script = pick(this.#script.runs, this.#runs++);
    const neverLived = script.ending.how === 'not-started';
    const process: AgentProcess = {
      run,
      script,
      startedAt: this.clock,
      endsAt: this.clock + script.ms,
      killedAt: neverLived ? this.clock : null,
    };
    this.processes.set(run, process);
    return process;
  }

  kill(run: string): void {
    const process = this.processes.get(run);
    if (process !== undefined && process.endsAt > this.clock) process.killedAt ??= this.clock;
  }

  /** Time passes. */
  goOnTo(moment: number): void {
    this.clock = Math.max(this.clock, moment);
    this.settle();
  }

  /** What a run that has ended leaves behind happens at its end, whether anybody looks or not. */
  settle(): void {
    for (const process of this.processes.values()) {
      if (process.killedAt !== null || saidAllAt(process) > this.clock || process.script.left === true)
        continue;
      const { leaves } = process.script;
      if (leaves?.done === true) this.doneFile = true;
      if (leaves?.wait === true) this.waitFile = true;
      if (leaves?.message !== undefined) this.busMessages.push(leaves.message);
      if (leaves?.change === true) this.tree++;
      process.script = { ...process.script, left: true };
    }
  }

  alive(): readonly string[] {
    return [...this.processes.values()]
      .filter(({ endsAt, killedAt }) => endsAt > this.clock && killedAt === null)
      .map(({ run }) => run);
  }

  /** Whether there ever was an agent of this run. */
  hasLived(run: string): boolean {
    const process = this.processes.get(run);
    return process !== undefined && process.script.ending.how !== 'not-started';
  }

  /** What a run has said when it has come to its end, or as far as it came until then. */
  output(process: AgentProcess, then: number = this.clock): OutputSnapshot {
    const { script, startedAt, killedAt } = process;
    const endsAt = saidAllAt(process);
    const until = Math.min(endsAt, killedAt ?? endsAt, then);
    const whole = until >= endsAt;
    const { output, resetsInMs } = script;
    return {
      offset: until - startedAt,
      tokens: output?.tokens ?? null,
      cost: output?.cost ?? null,
      steps: output?.steps ?? 0,
      said: whole ? (output?.said ?? null) : null,
      claim: whole || output?.claimEndsRun === true ? (output?.claim ?? null) : null,
      claimEndsRun: output?.claimEndsRun ?? false,
      limit:
        !whole || resetsInMs === undefined
          ? null
          : { resetsAt: resetsInMs === null ? null : endsAt + resetsInMs, message: 'usage limit' },
    };
  }

  check(): CheckResult {
    const code = pick(this.#script.checks, this.#checks++);
    return { code, timedOut: code === null, durationMs: 10, log: 'check.log' };
  }

  changes(): Changes {
    const found = pick(this.#script.changes ?? ['some'], this.#changes++);
    return {
      any: found === 'some' || found === 'stuck',
      committed: found === 'committed',
      error: found === 'stuck' ? 'a merge is in progress' : null,
    };
  }

  moveAside(markers: readonly string[]): void {
    if (markers.includes('DONE')) this.doneFile = false;
  }

  look({ markers, messages, fingerprint }: Extract<Effect, { type: 'probe' }>): Probe {
    this.settle();
    const present = new Set([
      ...(this.doneFile ? ['DONE'] : []),
      ...(this.waitFile ? ['WAIT_WITHOUT_RESTART'] : []),
    ]);
    return {
      markers: markers.filter((marker) => present.has(marker)),
      problem: this.#script.problem ?? null,
      messages: messages ? this.busMessages.splice(0) : [],
      fingerprint: fingerprint ? `tree-${this.tree}` : null,
    };
  }
}

export interface WorldScript {
  /** One for every process that is started; the last one is used again and again. */
  readonly runs: readonly RunScript[];
  /** Exit codes, one for every check that is run; the last one is used again and again. */
  readonly checks: readonly (number | null)[];
  /** What there is to commit, whenever somebody looks, or that it cannot be; the last one is used again and again. */
  readonly changes?: readonly ('some' | 'none' | 'committed' | 'stuck')[];
  /** What is wrong with the marker file. */
  readonly problem?: string;
}

export interface RunScript {
  readonly ms: number;
  /** It has said and done everything so long after its start, and lives on in silence. */
  readonly quietAfterMs?: number;
  readonly ending: RunEnding;
  /** What it puts out; cost and tokens are there from the middle of the run on, a claim at its end. */
  readonly output?: Partial<OutputSnapshot>;
  /** It runs into a usage limit that resets so long after its end; null when it does not say. */
  readonly resetsInMs?: number | null;
  readonly leaves?: {
    readonly done?: boolean;
    readonly wait?: boolean;
    readonly message?: string;
    readonly change?: boolean;
  };
  /** Already left. */
  readonly left?: boolean;
}

export interface AgentProcess {
  readonly run: string;
  script: RunScript;
  readonly startedAt: number;
  readonly endsAt: number;
  killedAt: number | null;
}

function saidAllAt({ script, startedAt, endsAt }: AgentProcess): number {
  return script.quietAfterMs === undefined ? endsAt : startedAt + script.quietAfterMs;
}

function pick<T>(list: readonly T[], index: number): T {
  const item = list[Math.min(index, list.length - 1)];
  if (item === undefined) throw new Error('the script is empty');
  return item;
}

/** What comes of a commit. */
export function commitIn({ message, commit }: Extract<Effect, { type: 'commit' }>): {
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

/** The agent says that it is done and exits 0. */
export function claims(more: Partial<RunScript> = {}): RunScript {
  const claim: Claim = { by: 'promise-tag', text: '<promise>DONE</promise>' };
  return exits(0, { ...more, output: { claim, ...more.output } });
}

/** The provider's limit ends the run. */
export function limited(resetsInMs: number | null, more: Partial<RunScript> = {}): RunScript {
  const ending: RunEnding = { how: 'exited', code: 1, error: null };
  return { ms: 1000, ending, resetsInMs, ...more, output: { said: 'error', ...more.output } };
}

/** An agent that never ends by itself. */
export function hangs(more: Partial<RunScript> = {}): RunScript {
  return exits(0, { ms: Number.POSITIVE_INFINITY, ...more });
}
