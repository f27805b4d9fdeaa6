import type { Tokens } from '../loop/event.ts';

/** The price of tokens in dollars; null if the model is not in the table. */
export type Price = (model: string | null, tokens: Tokens) => number | null;

/** Loads the price table. It is large, so load it only to estimate a cost. */
export async function loadPrices(): Promise<Price> {
  const { calcPrice } = await import('@pydantic/genai-prices');
  return (model, { input, output, cacheRead, cacheWrite }) => {
    if (model === null) return null;
    // The name may have a provider prefix, as in `openai/gpt-5`.
    const name = model.split('/').at(-1) ?? model;
    // In the table's terms the input includes cached tokens.
    const usage = {
      input_tokens: input + cacheRead + cacheWrite,
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      output_tokens: output,
    };
    return calcPrice(usage, name)?.total_price ?? null;
  };
}
