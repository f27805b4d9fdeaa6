import { describe, expect, it } from 'vitest';
import { priceFor } from './money.ts';

const million = { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 };

describe('the price of tokens', () => {
  it('is known for an agent that reports its cost at the end, since a limit may be hit before', async () => {
    const price = await priceFor({ kind: 'claude', argv: ['claude'] });
    expect(price('claude-opus-4-5', million)).toBeGreaterThan(0);
  });

  it('is that of the requested model if the stream names none or one without a price', async () => {
    const price = await priceFor({ kind: 'codex', argv: ['codex'], model: 'gpt-5' });
    expect(price('gpt-5', million)).toBeGreaterThan(0);
    expect(price(null, million)).toBe(price('gpt-5', million));
    expect(price('no-such-model', million)).toBe(price('gpt-5', million));
  });

  it('is unknown without a model, and for a command that reports nothing', async () => {
    const unnamed = await priceFor({ kind: 'codex', argv: ['codex'] });
    expect(unnamed(null, million)).toBeNull();
    const custom = await priceFor({ kind: 'custom', argv: ['sh'], model: 'gpt-5' });
    expect(custom('gpt-5', million)).toBeNull();
  });
});
