import type { Tokens } from '../loop/event.ts';

/** What tokens of a model cost in dollars; null for a model that is not in the table. */
export type Price = (model: string | null, tokens: Tokens) => number | null;

/** The price table. Loaded only where something has to be estimated: it is large. */
export async function loadPrices(): Promise<Price> {
  const { calcPrice } = await import('@pydantic/genai-prices');
  return (model, { input, output, cacheRead, cacheWrite }) => {
    if (model === null) return null;
    // A provider may stand in front: `openai/gpt-5`.
    const name = model.split('/').at(-1) ?? model;
    // What the cache had is a part of the input there.
    const usage = {
      input_tokens: input + cacheRead + cacheWrite,
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      output_tokens: output,
    };
    return calcPrice(usage, name)?.total_price ?? null;
  };
}
