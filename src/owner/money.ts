/** Limits on cost and tokens: a limit that cannot be enforced is refused at the start, and so is a child that would spend unseen. */
import { agentNamed } from '../agents/agents.ts';
import { loadPrices, type Price } from '../agents/prices.ts';
import type { LedgerEntry } from '../loop/family.ts';
import type { Spec } from '../home/spec.ts';
import type { LimitsPolicy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';

export async function checkSpendLimits(limits: Partial<LimitsPolicy>, spec: Spec['agent']): Promise<void> {
  const problem = await problemWith(limits, spec);
  if (problem !== null)
    throw new UserError(`cannot enforce ${problem.option}: ${problem.why}; ${problem.remedy}`);
}

/** Throws if the agent of a child does not report what a limit of a loop above counts. */
export async function checkUpperLimits(above: readonly LedgerEntry[], spec: Spec['agent']): Promise<void> {
  for (const { name, limits } of above) {
    // oxlint-disable-next-line no-await-in-loop -- the first problem is enough
    const problem = await problemWith({ costUsd: limits.usd, tokens: limits.tokens }, spec);
    if (problem === null) continue;
    throw new UserError(
      `cannot enforce ${problem.option} of the loop "${name}", in whose budget this child would count: ${problem.why}; choose an agent that reports it (see: ralph agents), or do the work yourself`,
    );
  }
}

interface MoneyProblem {
  readonly option: string;
  readonly why: string;
  readonly remedy: string;
}

async function problemWith(limits: Partial<LimitsPolicy>, spec: Spec['agent']): Promise<MoneyProblem | null> {
  const wantsCost = typeof limits.costUsd === 'number';
  const { reports, name } = agentNamed(spec.kind);
  const instead = 'limit --max-iterations or --max-time instead';
  const option = wantsCost ? '--max-cost' : '--max-tokens';
  if (reports === 'nothing' && (wantsCost || typeof limits.tokens === 'number'))
    return {
      option,
      why: `the agent ${name} does not report what it uses`,
      remedy: `choose an agent that does (see: ralph agents), or ${instead}`,
    };
  if (!wantsCost || reports === 'cost') return null;
  if (spec.model === undefined)
    return {
      option,
      why: `${name} reports tokens but not their cost`,
      remedy: 'pass --model, so that Ralph can estimate the cost, or limit --max-tokens',
    };
  const price = await loadPrices();
  if (price(spec.model, { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }) !== null) return null;
  return {
    option,
    why: `no price is known for the model ${JSON.stringify(spec.model)}`,
    remedy: `limit --max-tokens, or ${instead}`,
  };
}

/** The price of an agent's tokens. Agents that report a cost do so at their end, which may be too late for a limit. */
export async function priceFor(spec: Spec['agent']): Promise<Price> {
  if (agentNamed(spec.kind).reports === 'nothing') return () => null;
  const price = await loadPrices();
  const stated = spec.model ?? null;
  return (model, tokens) => price(model ?? stated, tokens) ?? price(stated, tokens);
}
