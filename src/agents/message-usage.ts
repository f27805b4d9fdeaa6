import { totalTokens } from '../loop/charge.ts';
import type { Tokens } from '../loop/event.ts';
import { addTokens, NOTHING_SPENT, subtractTokens } from '../loop/limits.ts';
import type { ModelUsage, Usage } from './agent.ts';

/**
 * The sum of the usage of messages. One answer of the model comes in several messages, each with its usage so far: an answer
 * counts once, with the greatest usage of its messages.
 */
export class MessageUsage {
  readonly #maxOpen: number;
  /** The usage of each answer that may be incomplete. */
  readonly #open = new Map<string, ModelUsage>();
  /** The bytes of each of these answers that the stream has shown. */
  readonly #streamed = new Map<string, number>();
  /** The sums of the run so far, by model, and how many answers and results are in each. */
  readonly #sums = new Map<string, { readonly used: ModelUsage; readonly parts: number }>();
  /** The usage in the results so far. */
  #settled: Usage | null = null;
  #isSettled = true;

  /** `maxOpen` answers may be incomplete at the same time. */
  constructor(maxOpen: number = 32) {
    this.#maxOpen = maxOpen;
  }

  /** Returns whether the usage changed. */
  add(id: string, tokens: Tokens, model: string | null): boolean {
    if (totalTokens(tokens) === 0) return false;
    const earlier = this.#open.get(id);
    const used = this.#withEstimate(id, {
      model,
      tokens: earlier === undefined ? tokens : greatestTokens(earlier.tokens, tokens),
    });
    this.#open.delete(id);
    this.#open.set(id, used);
    this.#count(used, 1);
    if (earlier !== undefined) this.#count(earlier, -1);
    if (this.#open.size > this.#maxOpen) {
      const [oldest = ''] = this.#open.keys();
      this.#open.delete(oldest);
      this.#streamed.delete(oldest);
    }
    this.#isSettled = false;
    return true;
  }

  /** Takes in a part of an answer whose messages do not have its final usage; before the message itself. */
  streamed(id: string, bytes: number): void {
    this.#streamed.set(id, (this.#streamed.get(id) ?? 0) + bytes);
  }

  /** The usage of the run so far. */
  get total(): Usage | null {
    if (this.#isSettled) return this.#settled;
    return { parts: this.#parts, costUsd: null, isWholeSession: false };
  }

  /** Replaces the usage of the messages by the exact usage in their result. */
  settle(since: Usage): Usage {
    const costUsd = since.costUsd === null ? null : (this.#settled?.costUsd ?? 0) + since.costUsd;
    this.#open.clear();
    this.#streamed.clear();
    this.#sums.clear();
    for (const part of [...(this.#settled?.parts ?? []), ...since.parts]) this.#count(part, 1);
    this.#settled = { parts: this.#parts, costUsd, isWholeSession: false };
    this.#isSettled = true;
    return this.#settled;
  }

  get #parts(): readonly ModelUsage[] {
    return [...this.#sums.values()].map(({ used }) => used);
  }

  #withEstimate(id: string, used: ModelUsage): ModelUsage {
    const bytes = this.#streamed.get(id);
    if (bytes === undefined) return used;
    const estimatedOutput = Math.max(0, Math.ceil(bytes / BYTES_PER_TOKEN) - used.tokens.output);
    return { ...used, estimatedOutput };
  }

  /** Adds a part to the sum of its model, or takes it out again. */
  #count({ model, tokens, estimatedOutput = 0 }: ModelUsage, times: 1 | -1): void {
    const key = model ?? '';
    const sum = this.#sums.get(key);
    const parts = (sum?.parts ?? 0) + times;
    if (parts === 0) {
      this.#sums.delete(key);
      return;
    }
    const before = sum?.used.tokens ?? NOTHING_SPENT.tokens;
    const after = times === 1 ? addTokens(before, tokens) : subtractTokens(before, tokens);
    const estimate = (sum?.used.estimatedOutput ?? 0) + times * estimatedOutput;
    const used = { model, tokens: after, ...(estimate > 0 ? { estimatedOutput: estimate } : {}) };
    this.#sums.set(key, { used, parts });
  }
}

/** Of English and code; a limit is better reached a little early than late. */
const BYTES_PER_TOKEN = 3.5;

/** The greater count of each kind. */
export function greatestTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: Math.max(a.input, b.input),
    output: Math.max(a.output, b.output),
    cacheRead: Math.max(a.cacheRead, b.cacheRead),
    cacheWrite: Math.max(a.cacheWrite, b.cacheWrite),
  };
}
