/** Whether a limit on money or tokens can be kept with an agent: one that cannot is refused, not ignored. */
import { agentNamed } from '../agents/agents.ts';
import { loadPrices, type Price } from '../agents/prices.ts';
import type { Spec } from '../store/spec.ts';
import type { LimitsPolicy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';

export async function checkSpendLimits(limits: Partial<LimitsPolicy>, spec: Spec['agent']): Promise<void> {
  const wantsCost = typeof limits.costUsd === 'number';
  const { tells, name } = agentNamed(spec.kind);
  const instead = 'limit --max-iterations or --max-time instead';
  if (tells === 'nothing' && (wantsCost || typeof limits.tokens === 'number')) {
    const option = wantsCost ? '--max-cost' : '--max-tokens';
    throw new UserError(
      `${option} cannot be kept: ralph cannot read from the agent ${name} what it uses; choose one that tells (ralph agents), or ${instead}`,
    );
  }
  if (!wantsCost || tells === 'cost') return;
  if (spec.model === undefined) {
    throw new UserError(
      `--max-cost cannot be kept: ${name} tells how many tokens it uses but not what they cost; say --model, so that it can be estimated, or limit --max-tokens`,
    );
  }
  const price = await loadPrices();
  if (price(spec.model, { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }) === null) {
    throw new UserError(
      `--max-cost cannot be kept: the price of the model ${JSON.stringify(spec.model)} is not known; limit --max-tokens, or ${instead}`,
    );
  }
}

/** What the tokens of an agent cost: one that tells its cost does so at its end, which may be too late for a limit. */
export async function priceFor(spec: Spec['agent']): Promise<Price> {
  if (agentNamed(spec.kind).tells === 'nothing') return () => null;
  const price = await loadPrices();
  const stated = spec.model ?? null;
  return (model, tokens) => price(model ?? stated, tokens) ?? price(stated, tokens);
}
