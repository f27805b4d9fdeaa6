import type { Effect } from '../../src/loop/effect.ts';
import type { LoopEvent, OutputSnapshot } from '../../src/loop/event.ts';
import type { LimitsPolicy } from '../../src/loop/policy.ts';
import { must } from './plain.ts';

/** The oracle's own account of what the runs used, and of what is charged for those that do not report it. */
export class SpendBooks {
  readonly #runs = new Map<string, BookedRun>();
  /** Usage limits that this loop has to wait for, hit by a work run or heard of, since it was last resumed. */
  limitWaits = 0;

  started(run: string): void {
    this.#runs.set(run, { ...this.#of(run), started: true });
  }

  output(run: string, { cost, tokens }: OutputSnapshot): void {
    must(
      this.#of(run).started,
      'L7',
      `run ${run} says what it used, and the journal does not say that it began`,
    );
    const sum = tokens === null ? null : tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite;
    this.#runs.set(run, { ...this.#of(run), usd: cost?.usd ?? null, tokens: sum });
  }

  ended(run: string, as: Extract<LoopEvent, { type: 'run.ended' }>['as']): void {
    this.#runs.set(run, { ...this.#of(run), as });
  }

  limitHit(): void {
    this.limitWaits++;
  }

  /** A person resumes the loop, which allows it further runs of unknown usage. */
  reopened(): void {
    this.limitWaits = 0;
    for (const [run, booked] of this.#runs) this.#runs.set(run, { ...booked, beforeReopening: true });
  }

  /** Everything that is known and charged. */
  charged(kind: 'usd' | 'tokens'): {
    readonly sum: number;
    readonly isUnknown: boolean;
    readonly dearest: number;
    readonly uncharged: number;
    readonly unknown: number;
  } {
    const all = [...this.#runs.values()];
    const known = all.flatMap((run) => run[kind] ?? []);
    const unknown = all.filter((run) => run[kind] === null && run.started && CHARGED.has(run.as ?? ''));
    const blind = unknown.filter((run) => run.as !== 'interrupted' && !run.beforeReopening);
    const dearest = Math.max(0, ...known);
    const sum = known.reduce((a, b) => a + b, 0) + unknown.length * dearest;
    const isUnknown = known.length === 0 && blind.length >= 2;
    return {
      sum,
      isUnknown,
      dearest,
      uncharged: dearest === 0 ? unknown.length : 0,
      unknown: unknown.length,
    };
  }

  mayWait(effect: Effect, limitWaits: number | null): void {
    if (effect.type !== 'wait' || effect.why !== 'usage-limit') return;
    must(
      limitWaits === null || this.limitWaits <= limitWaits,
      'L19',
      `wait ${this.limitWaits} for a usage limit`,
    );
  }

  /** L7: no run is planned once a limit is reached, or can no longer be enforced. */
  mayPlan({ costUsd, tokens }: LimitsPolicy): void {
    for (const [kind, limit] of [['usd', costUsd] as const, ['tokens', tokens] as const]) {
      if (limit === null) continue;
      const { sum, isUnknown } = this.charged(kind);
      must(sum < limit, 'L7', `a run is planned with ${sum} of ${limit} ${kind} charged`);
      must(!isUnknown, 'L7', `a run is planned after two of unknown ${kind}, without a known one`);
    }
  }

  /** The known cost of the ended runs. */
  get knownUsd(): number {
    return [...this.#runs.values()].reduce((sum, { as, usd }) => sum + (as === null ? 0 : (usd ?? 0)), 0);
  }

  /** What all runs have reported, the open one too. */
  known(kind: 'usd' | 'tokens'): number {
    return [...this.#runs.values()].reduce((sum, run) => sum + (run[kind] ?? 0), 0);
  }

  #of(run: string): BookedRun {
    const none = { started: false, usd: null, tokens: null, as: null, beforeReopening: false };
    return this.#runs.get(run) ?? none;
  }
}

interface BookedRun {
  readonly started: boolean;
  readonly usd: number | null;
  readonly tokens: number | null;
  readonly as: string | null;
  readonly beforeReopening: boolean;
}

/** Usage limits and outages are not charged, nor is a run that a retry cannot fix. */
const CHARGED = new Set(['ok', 'failure', 'wait', 'restart', 'interrupted']);
