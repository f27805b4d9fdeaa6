/** What a loop has used, as people read it: a sum that leaves something out says so. */
import { totalTokens, type Assumption } from './charge.ts';
import { counted } from './counted.ts';
import type { FamilyCount, Tokens } from './event.ts';
import type { Spend } from './state.ts';

/** The cost with its source: `$0.0123 reported (plus 2 runs of unknown cost)`, with the children's: `$2.0000 reported, of it $0.6000 by 3 children`. */
export function costOf(
  { usd, source, unknownRuns }: Pick<Spend, 'usd' | 'source' | 'unknownRuns'>,
  assumed: Assumption | null = null,
  below: Below = NOTHING_BELOW,
): string {
  const theirs = `$${below.usd.toFixed(4)}${by(below)}`;
  if (source === null) return below.usd === 0 ? 'unknown' : `unknown, and ${theirs}`;
  const charge = assumed === null ? null : { ...assumed, text: `$${assumed.sum.toFixed(4)}` };
  const all = `$${(usd + below.usd).toFixed(4)} ${source}${gap(unknownRuns, 'cost', charge)}`;
  return below.usd === 0 ? all : `${all}, of it ${theirs}`;
}

type Below = FamilyCount['below'];
const NOTHING_BELOW: Below = { loops: 0, usd: 0, tokens: 0 };

/** Children are loops that this one has started, and theirs. */
function by({ loops }: Below): string {
  return ` by ${counted(loops, 'child', 'children')}`;
}

/** The tokens by kind; null if none are known. */
export function tokensOf(
  {
    tokens,
    unknownTokenRuns,
    estimatedOutputRuns,
  }: Pick<Spend, 'tokens' | 'unknownTokenRuns' | 'estimatedOutputRuns'>,
  assumed: Assumption | null = null,
  below: Below = NOTHING_BELOW,
): string | null {
  const theirs = below.tokens === 0 ? '' : `${below.tokens}${by(below)}`;
  if (totalTokens(tokens) === 0) return theirs === '' ? null : theirs;
  const { input, output, cacheRead, cacheWrite } = tokens;
  const charge = assumed === null ? null : { ...assumed, text: `${assumed.sum} tokens` };
  const text = `${input} in, ${output} out, ${cacheRead} cache read, ${cacheWrite} cache write`;
  const estimate =
    estimatedOutputRuns === 0 ? '' : ` (output estimated in ${counted(estimatedOutputRuns, 'run')})`;
  return `${text}${estimate}${gap(unknownTokenRuns, 'usage', charge)}${theirs === '' ? '' : `, and ${theirs}`}`;
}

/** The tokens for programs: null if they are unknown, which is not zero. */
export function knownTokens({ tokens, unknownTokenRuns }: Spend): Tokens | null {
  return totalTokens(tokens) === 0 && unknownTokenRuns > 0 ? null : tokens;
}

function gap(
  unknown: number,
  what: 'cost' | 'usage',
  charge: { readonly runs: number; readonly text: string } | null,
): string {
  if (unknown === 0) return '';
  const runs = `plus ${counted(unknown, 'run')} of unknown ${what}`;
  if (charge === null) return ` (${runs})`;
  const which = charge.runs === unknown ? '' : `${charge.runs} of them `;
  return ` (${runs}, ${which}charged like the most expensive known run: ${charge.text} in all)`;
}
