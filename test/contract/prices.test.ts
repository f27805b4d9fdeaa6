import { readFileSync } from 'node:fs';
import { calcPrice } from '@pydantic/genai-prices';
import { describe, expect, it } from 'vitest';
import type { Price } from '../../src/agents/prices.ts';

const built = new URL('../../dist/agents/', import.meta.url);

describe('the price table of the package', () => {
  it('has the price that the whole table has for every model', async () => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- built from `src/agents/prices.ts`
    const { loadPrices } = (await import(new URL('prices.js', built).href)) as {
      loadPrices: () => Promise<Price>;
    };
    const price = await loadPrices();
    const ids = modelIds(readFileSync(new URL(import.meta.resolve('@pydantic/genai-prices')), 'utf8'));
    expect(ids.length).toBeGreaterThan(1000);
    const usage = {
      input_tokens: 1750,
      cache_read_tokens: 700,
      cache_write_tokens: 50,
      output_tokens: 300,
    };
    const different = ids.filter((id) => {
      const name = id.split('/').at(-1) ?? id;
      const ours = result(() => price(id, { input: 1000, output: 300, cacheRead: 700, cacheWrite: 50 }));
      return ours !== result(() => calcPrice(usage, name)?.total_price ?? null);
    });
    expect(different).toEqual([]);
  });
});

/** The text of an error is a result too: some prices need usage that an agent does not report. */
function result(compute: () => number | null): unknown {
  try {
    return compute();
  } catch (error) {
    return String(error);
  }
}

/** Every model and provider in the code of the table, each also with a date. */
function modelIds(code: string): readonly string[] {
  const ids = [...code.matchAll(/^ +id: "([^"]+)"/gm)].map(([, id = '']) => id);
  return [...new Set(ids.flatMap((id) => [id, `${id}-20250929`]))];
}
