/** Limits on cost and tokens: a limit that cannot be enforced is refused at the start. */
import { agentNamed } from '../agents/agents.ts';
import { loadPrices, type Price } from '../agents/prices.ts';
import type { Spec } from '../store/spec.ts';
import type { LimitsPolicy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';

export async function checkSpendLimits(limits: Partial<LimitsPolicy>, spec: Spec['agent']): Promise<void> {
  const wantsCost = typeof limits.costUsd === 'number';
  const { reports, name } = agentNamed(spec.kind);
  const instead = 'limit --max-iterations or --max-time instead';
  if (reports === 'nothing' && (wantsCost || typeof limits.tokens === 'number')) {
    const option = wantsCost ? '--max-cost' : '--max-tokens';
    throw new UserError(
      `cannot enforce ${option}: the agent ${name} does not report what it uses; choose an agent that does (see: ralph agents), or ${instead}`,
    );
  }
  if (!wantsCost || reports === 'cost') return;
  if (spec.model === undefined) {
    throw new UserError(
      `cannot enforce --max-cost: ${name} reports tokens but not their cost; pass --model, so that Ralph can estimate the cost, or limit --max-tokens`,
    );
  }
  const price = await loadPrices();
  if (price(spec.model, { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }) === null) {
    throw new UserError(
      `cannot enforce --max-cost: no price is known for the model ${JSON.stringify(spec.model)}; limit --max-tokens, or ${instead}`,
    );
  }
}

/** The price of an agent's tokens. Agents that report a cost do so at their end, which may be too late for a limit. */
export async function priceFor(spec: Spec['agent']): Promise<Price> {
  if (agentNamed(spec.kind).reports === 'nothing') return () => null;
  const price = await loadPrices();
  const stated = spec.model ?? null;
  return (model, tokens) => price(model ?? stated, tokens) ?? price(stated, tokens);
}
