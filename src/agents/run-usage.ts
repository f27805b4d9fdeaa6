/**
 * What a run has used so far, and its price.
 *
 * 1. The last usage in the stream counts. A usage without a cost, or without a model that has a price, leaves the last cost as it is.
 * 2. To look up a price takes longer than to parse a message, so a price is looked up only when it is asked for.
 */
import { totalTokens } from '../loop/charge.ts';
import type { Cost, Tokens } from '../loop/event.ts';
import { addTokens, NOTHING_SPENT, subtractTokens } from '../loop/limits.ts';
import type { SessionSpend } from '../loop/state.ts';
import type { Usage } from './agent.ts';
import type { Price } from './prices.ts';

export class RunUsage {
  readonly #price: Price;
  #tokens: Tokens | null = null;
  #cost: Cost | null = null;
  /** The last usage, until its price is needed, and what of it belongs to earlier runs of the session. */
  #unpriced: { readonly usage: Usage; readonly before: SessionSpend | null } | null = null;

  constructor(price: Price) {
    this.#price = price;
  }

  /** Takes in the usage so far; `before` is the part of it that belongs to earlier runs. Returns whether it has any. */
  add(usage: Usage, before: SessionSpend | null): boolean {
    if (isEmpty(usage)) return false;
    if (this.#unpriced !== null && !replaces(usage, this.#unpriced.usage)) this.#settle();
    this.#unpriced = { usage, before };
    return true;
  }

  get tokens(): Tokens | null {
    this.#settle();
    return this.#tokens;
  }

  get cost(): Cost | null {
    this.#settle();
    return this.#cost;
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
      const one = this.#price(part.model, part.tokens);
      if (one !== null) estimate = (estimate ?? 0) + one;
      else isPartial ||= totalTokens(part.tokens) > 0;
      tokens = addTokens(tokens, part.tokens);
    }
    if (usage.parts.length > 0)
      this.#tokens = before === null ? tokens : subtractTokens(tokens, before.tokens);
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
