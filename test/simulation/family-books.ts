import type { LoopEvent } from '../../src/loop/event.ts';
import type { LimitsPolicy } from '../../src/loop/policy.ts';
import type { LoopState } from '../../src/loop/state.ts';
import { must } from './plain.ts';
import { SpendBooks } from './spend-books.ts';

type Kind = 'usd' | 'tokens';
const KINDS = ['usd', 'tokens'] as const;

/**
 * The oracle's own account of what a family spends (L18). It knows only what each loop has journaled, who started whom, and when
 * each owner wrote its entry: the other loops can know no more than that.
 */
export class FamilyBooks {
  readonly #payers: readonly (number | null)[];
  readonly #members: readonly Member[];

  constructor(payers: readonly (number | null)[], limits: readonly LimitsPolicy[]) {
    this.#payers = payers;
    this.#members = limits.map((own) => ({
      spending: new SpendBooks(),
      limits: own,
      ever: [own],
      shown: null,
      dearest: { usd: 0, tokens: 0 },
      events: { runs: 0, counts: 0, lives: 1 },
    }));
  }

  /** The owner of a loop has written its entry, or the one that starts it has opened it. */
  settled(loop: number, until: number | null): void {
    const member = this.#of(loop);
    const { limits, spending } = member;
    member.shown = { usd: spending.charged('usd'), tokens: spending.charged('tokens'), limits, until };
  }

  /** Books an event of a loop; `before` is the state before it. */
  book(loop: number, event: LoopEvent, before: LoopState): void {
    const member = this.#of(loop);
    const { spending, events } = member;
    if (event.type === 'owner.changed') events.lives++;
    if (event.type === 'family.counted') events.counts++;
    if (event.type === 'run.started') spending.started(event.run);
    if (event.type === 'run.output') this.#output(member, event);
    if (event.type === 'run.ended') spending.ended(event.run, event.as);
    if (event.type === 'loop.ended') this.#mayEnd(loop, event, before);
    if (event.type === 'run.planned') {
      events.runs++;
      this.#mayPlan(loop, event.at);
    }
    if (event.type !== 'control.received' || event.control.type !== 'set') return;
    if (before.control.seen.includes(event.id)) return;
    member.limits = { ...member.limits, ...event.control.limits };
    member.ever.push(member.limits);
  }

  #output({ spending, dearest }: Member, event: Extract<LoopEvent, { type: 'run.output' }>): void {
    spending.output(event.run, event);
    const { cost, tokens } = event;
    const used = tokens === null ? 0 : tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite;
    dearest.usd = Math.max(dearest.usd, cost?.usd ?? 0);
    dearest.tokens = Math.max(dearest.tokens, used);
  }

  /** The limit on cost or tokens that is reached, as far as the owner of a loop can know; null if none is. */
  spent(loop: number): string | null {
    const bound = this.#boundsOf(loop).find(
      ({ limit, sum, kind }) => this.#of(loop).spending.charged(kind).isUnknown || sum + 1e-9 >= limit,
    );
    return bound === undefined ? null : `${bound.sum} of ${bound.limit} ${bound.kind} of loop ${bound.of}`;
  }

  /** The limit of a loop above towards which a second run was charged with nothing; null if there is none. */
  #unenforceable(loop: number): string | null {
    const bound = this.#boundsOf(loop).find(({ uncharged }) => uncharged >= 2);
    return bound === undefined ? null : `${bound.uncharged} uncharged runs below loop ${bound.of}`;
  }

  /** Checks the whole history: what a family has spent, and how much its journals say about it. */
  close(): void {
    for (const [loop, { ever }] of this.#members.entries()) {
      const family = this.#below(loop).concat(loop);
      for (const kind of KINDS) {
        const limits = ever.map((one) => limitOf(one, kind));
        if (limits.includes(null)) continue;
        const most = Math.max(...limits.flatMap((limit) => limit ?? []));
        const spent = sumOf(family.map((one) => this.#of(one).spending.known(kind)));
        const oneRunEach = sumOf(family.map((one) => this.#of(one).dearest[kind]));
        must(
          spent < most + oneRunEach + 1e-9,
          'L18',
          `the family of loop ${loop} has spent ${spent} of ${most} ${kind}, and its runs cost ${oneRunEach} together`,
        );
      }
    }
    for (const [loop, { events }] of this.#members.entries()) {
      const changes = [loop, ...this.#above(loop)].map((one) => {
        const { ever, events: those } = this.#of(one);
        return ever.length + 2 * those.lives;
      });
      const most = 2 * events.runs + sumOf(changes) + 4;
      must(events.counts <= most, 'L18', `${events.counts} counts, ${events.runs} runs, at most ${most}`);
    }
  }

  #mayPlan(loop: number, now: number): void {
    const why = this.spent(loop) ?? this.#unenforceable(loop);
    must(why === null, 'L18', `loop ${loop} plans a run with ${why}`);
    for (const upper of this.#above(loop)) {
      const until = this.#of(upper).shown?.until ?? Infinity;
      must(now < until, 'L18', `loop ${loop} plans a run ${now - until} ms after the end of loop ${upper}`);
    }
  }

  #mayEnd(loop: number, { outcome }: Extract<LoopEvent, { type: 'loop.ended' }>, before: LoopState): void {
    const kind =
      outcome.type === 'cost-exhausted' ? 'usd' : outcome.type === 'tokens-exhausted' ? 'tokens' : null;
    const named = 'family' in outcome ? outcome.family?.id : undefined;
    const of = named === undefined ? loop : Number(named);
    must(of === loop || this.#above(loop).includes(of), 'L18', `loop ${loop} ends by a limit of loop ${of}`);
    if (outcome.type === 'time-exhausted' && named !== undefined && outcome.resetsAt === undefined) {
      const until = this.#of(of).shown?.until ?? Infinity;
      must(
        before.now >= until,
        'L18',
        `loop ${loop} ends ${until - before.now} ms before the end of loop ${of}`,
      );
    }
    if (kind === null) return;
    const bound = this.#boundsOf(loop).find((one) => one.of === of && one.kind === kind);
    const isUnknown = this.#of(loop).spending.charged(kind).isUnknown || (bound?.uncharged ?? 0) >= 2;
    must(
      bound !== undefined && (isUnknown || bound.sum + 1e-9 >= bound.limit),
      'L18',
      `loop ${loop} ends with ${bound?.sum} of ${bound?.limit} ${kind} of loop ${of}`,
    );
    const spent = 'limitUsd' in outcome ? outcome.spentUsd : 'spent' in outcome ? outcome.spent : null;
    // What the others have spent since does not matter any more, nor that less is charged for their runs of unknown usage.
    const said = spent ?? 0;
    const isTrue = said + 1e-6 >= (bound?.limit ?? 0) && said <= (bound?.most ?? 0) + 1e-6;
    must(isUnknown || isTrue, 'L18', `loop ${loop} says ${spent}, and the books say ${bound?.sum}`);
  }

  /** The limits on cost and tokens that hold for a loop, and what counts towards them. */
  #boundsOf(loop: number): readonly Bound[] {
    const own = this.#of(loop);
    return [loop, ...this.#above(loop)].flatMap((of) =>
      KINDS.flatMap((kind): readonly Bound[] => {
        const limits = of === loop ? own.limits : this.#of(of).shown?.limits;
        const limit = limits === undefined ? null : limitOf(limits, kind);
        if (limit === null) return [];
        const others = this.#below(of)
          .concat(of)
          .filter((one) => one !== loop);
        const shown = others.flatMap((one) => this.#of(one).shown?.[kind] ?? []);
        // What a loop cannot charge is charged as the dearest run of all of them.
        const dearest = Math.max(own.shown?.[kind].dearest ?? 0, ...shown.map((one) => one.dearest));
        const sum =
          own.spending.charged(kind).sum + sumOf(shown.map((one) => one.sum + one.uncharged * dearest));
        const most = sum + sumOf(shown.map((one) => one.unknown * dearest));
        const silent = [own.spending.charged(kind), ...shown].map((one) => one.uncharged);
        const isKnown = dearest > 0 || own.spending.charged(kind).dearest > 0;
        return [{ of, kind, limit, sum, most, uncharged: of === loop || isKnown ? 0 : sumOf(silent) }];
      }),
    );
  }

  #above(loop: number): readonly number[] {
    const payer = this.#payers[loop] ?? null;
    return payer === null ? [] : [payer, ...this.#above(payer)];
  }

  #below(loop: number): number[] {
    return [...this.#members.keys()].filter((one) => this.#above(one).includes(loop));
  }

  #of(loop: number): Member {
    const member = this.#members[loop];
    if (member === undefined) throw new Error(`there is no loop ${loop}`);
    return member;
  }
}

interface Member {
  readonly spending: SpendBooks;
  /** As its journal has them, and all that it ever had. */
  limits: LimitsPolicy;
  readonly ever: LimitsPolicy[];
  /** Its entry; null before it has one. */
  shown: { usd: Shown; tokens: Shown; limits: LimitsPolicy; until: number | null } | null;
  /** The most that one of its runs has used. */
  readonly dearest: Record<Kind, number>;
  readonly events: { runs: number; counts: number; lives: number };
}

type Shown = ReturnType<SpendBooks['charged']>;

interface Bound {
  readonly of: number;
  readonly kind: Kind;
  readonly limit: number;
  readonly sum: number;
  /** The sum if every run of unknown usage is charged as the dearest of all. */
  readonly most: number;
  /** The runs of a family in which no usage is known; 0 for a loop's own limit. */
  readonly uncharged: number;
}

function limitOf({ costUsd, tokens }: LimitsPolicy, kind: Kind): number | null {
  return kind === 'usd' ? costUsd : tokens;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
