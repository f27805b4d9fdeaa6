/**
 * What a run has used so far, and its price.
 *
 * 1. The last usage in the stream counts. A usage without a cost, or without a model that has a price, leaves the last cost as it is.
 * 2. Before the stream ends with totals, what the CLI has recorded elsewhere counts as well, of each kind of tokens the greater number: an
 *    agent can write into the record, and cannot make the sum smaller.
 * 3. Output that only the text suggests counts while nothing is recorded, and the snapshot says that it is estimated.
 * 4. To look up a price takes longer than to parse a message, so a price is looked up only when it is asked for.
 */
import { totalTokens } from '../loop/charge.ts';
import type { Cost, Tokens } from '../loop/event.ts';
import { addTokens, NOTHING_SPENT, subtractTokens } from '../loop/limits.ts';
import type { SessionSpend } from '../loop/state.ts';
import type { ModelUsage, Usage } from './agent.ts';
import { greatestTokens } from './message-usage.ts';
import type { Price } from './prices.ts';

export class RunUsage {
  readonly #price: Price;
  #tokens: Tokens | null = null;
  #cost: Cost | null = null;
  #isOutputEstimated = false;
  #streamed: Usage | null = null;
  #recorded: Usage | null = null;
  #hasTotals = false;
  /** The last usage, until its price is needed, and what of it belongs to earlier runs of the session. */
  #unpriced: { readonly usage: Usage; readonly before: SessionSpend | null } | null = null;

  constructor(price: Price) {
    this.#price = price;
  }

  /** The stream has reported the usage of the whole run: a record says nothing new. */
  get hasTotals(): boolean {
    return this.#hasTotals;
  }

  /**
   * Takes in the usage that the stream reports, so far or in all; `before` is the part of it that belongs to earlier runs. Returns whether
   * it has any.
   */
  add(usage: Usage, before: SessionSpend | null, isTotal: boolean): boolean {
    if (isEmpty(usage)) return false;
    this.#hasTotals = isTotal;
    this.#streamed = usage;
    this.#take(isTotal ? usage : greatest(usage, this.#recorded), before);
    return true;
  }

  /** Takes in the usage so far that the CLI has recorded elsewhere. */
  addRecorded(usage: Usage, before: SessionSpend | null): void {
    if (isEmpty(usage) || this.#hasTotals) return;
    this.#recorded = usage;
    this.#take(greatest(usage, this.#streamed), before);
  }

  get tokens(): Tokens | null {
    this.#settle();
    return this.#tokens;
  }

  get cost(): Cost | null {
    this.#settle();
    return this.#cost;
  }

  get isOutputEstimated(): boolean {
    this.#settle();
    return this.#isOutputEstimated;
  }

  #take(usage: Usage, before: SessionSpend | null): void {
    if (this.#unpriced !== null && !replaces(usage, this.#unpriced.usage)) this.#settle();
    this.#unpriced = { usage, before };
  }

  #settle(): void {
    if (this.#unpriced === null) return;
    const { usage, before } = this.#unpriced;
    this.#unpriced = null;
    // A partial estimate is better than none, so models without a price are left out.
    let estimate: number | null = null;
    let isPartial = false;
    let tokens: Tokens = NOTHING_SPENT.tokens;
    for (const part of usage.parts) {
      const used = withEstimate(part);
      const one = this.#price(part.model, used);
      if (one !== null) estimate = (estimate ?? 0) + one;
      else isPartial ||= totalTokens(used) > 0;
      tokens = addTokens(tokens, used);
    }
    if (usage.parts.length > 0) {
      this.#tokens = before === null ? tokens : subtractTokens(tokens, before.tokens);
      this.#isOutputEstimated = usage.parts.some(({ estimatedOutput = 0 }) => estimatedOutput > 0);
    }
    const earlier = before?.usd ?? 0;
    if (usage.costUsd !== null)
      this.#cost = { usd: Math.max(0, usage.costUsd - earlier), source: 'reported' };
    else if (estimate !== null) {
      const cost: Cost = { usd: Math.max(0, estimate - earlier), source: 'estimated' };
      this.#cost = isPartial ? { ...cost, isPartial } : cost;
    }
  }
}

/** An agent that reports no tokens and no cost at all, as after a refused request, does not know what it used. */
function isEmpty({ costUsd, parts }: Usage): boolean {
  return (costUsd ?? 0) === 0 && parts.every(({ tokens }) => totalTokens(tokens) === 0);
}

/** Whether nothing is left of the last usage once this one is settled. Whether a price is known depends on the model alone. */
function replaces(usage: Usage, last: Usage): boolean {
  if (usage.parts.length === 0 && last.parts.length > 0) return false;
  if (usage.costUsd !== null) return true;
  return (
    last.costUsd === null && last.parts.every((part) => usage.parts.some(({ model }) => model === part.model))
  );
}

function withEstimate({ tokens, estimatedOutput = 0 }: ModelUsage): Tokens {
  return estimatedOutput === 0 ? tokens : { ...tokens, output: tokens.output + estimatedOutput };
}

/** Of what the stream and a record say about the same run, the greater, without estimates; a cost that is reported for as much stays. */
function greatest(usage: Usage, other: Usage | null): Usage {
  // What earlier runs have used cannot be told apart in a part of the numbers.
  if (other === null || other.isWholeSession !== usage.isWholeSession) return usage;
  const models = new Set([...usage.parts, ...other.parts].map(({ model }) => model));
  const parts = [...models].map((model) => ({
    model,
    tokens: greatestTokens(tokensOf(usage, model), tokensOf(other, model)),
  }));
  const all = sumOf(parts);
  const reported = [usage, other].find((one) => one.costUsd !== null && sumOf(one.parts) === all);
  return { ...usage, parts, costUsd: reported?.costUsd ?? null };
}

/** All tokens of all models. */
export function sumOf(parts: Usage['parts']): number {
  return parts.reduce((sum, { tokens }) => sum + totalTokens(tokens), 0);
}

function tokensOf({ parts }: Usage, model: string | null): Tokens {
  return parts.find((part) => part.model === model)?.tokens ?? NOTHING_SPENT.tokens;
}
