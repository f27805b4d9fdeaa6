import { describe, expect, it } from 'vitest';
import { priceFor } from './money.ts';

const million = { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 };

describe('what tokens cost', () => {
  it('is needed at once where a limit must be kept, also with an agent that tells its cost at its end', async () => {
    const claude = { kind: 'claude', argv: ['claude'] };
    const price = await priceFor(claude, 5);
    expect(price?.('claude-opus-4-5', million)).toBeGreaterThan(0);
    expect(await priceFor(claude, null)).toBeNull();
  });

  it('is that of the model that was asked for where the stream names none, and unknown without any', async () => {
    const price = await priceFor({ kind: 'codex', argv: ['codex'], model: 'gpt-5' }, null);
    expect(price?.(null, million)).toBe(price?.('gpt-5', million));
    expect(price?.('gpt-5', million)).toBeGreaterThan(0);
    const unnamed = await priceFor({ kind: 'codex', argv: ['codex'] }, null);
    expect(unnamed?.(null, million)).toBeNull();
    expect(await priceFor({ kind: 'custom', argv: ['sh'] }, 5)).toBeNull();
  });
});
