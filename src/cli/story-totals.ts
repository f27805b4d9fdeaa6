/** The last entry of a story: what the loop has used and made in all, including a run that goes on. */
import { assumptions } from '../loop/charge.ts';
import { counted, duration } from '../loop/counted.ts';
import type { FamilyCount, Tokens } from '../loop/event.ts';
import { costOf, knownTokens, tokensOf } from '../loop/spend-text.ts';
import { familyNow } from '../store/family.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { spendOf } from '../loop/report.ts';
import type { StoryEntry } from './story-entries.ts';

/** The sums of a loop for programs; the text of the entry says the same. */
export interface StoryTotals {
  /** Null if it is unknown. */
  readonly costUsd: number | null;
  readonly costSource: 'reported' | 'estimated' | null;
  readonly runsOfUnknownCost: number;
  /** Null if they are unknown. */
  readonly tokens: Tokens | null;
  readonly runsOfUnknownTokens: number;
  /** Runs whose output tokens are partly estimated. */
  readonly runsOfEstimatedOutput: number;
  /** What child loops and theirs have spent, which is in none of the sums above, and how many have. */
  readonly spentByChildren: FamilyCount['below'];
  readonly commits: number;
  /** Files that differ between the start and the last checkpoint; null without checkpoints. */
  readonly changedFiles: number | null;
  /** Waits of a second or longer that are over, and how long they took together. */
  readonly waits: number;
  readonly waitedMs: number;
}

export function entryForTotals(loop: LoopReading, changedFiles: number | null, at: number): StoryEntry {
  const { total } = spendOf(loop);
  const charged = assumptions(loop.state);
  const { iteration } = loop.state;
  const { commits, waits } = loop.report;
  const tokens = knownTokens(total);
  const { below } = familyNow(loop.spec, loop.state);
  const parts = [
    `cost ${costOf(total, charged.usd, below)}`,
    tokens === null && below.tokens === 0
      ? 'tokens unknown'
      : `tokens: ${tokensOf(total, charged.tokens, below) ?? '0'}`,
    counted(commits, 'commit'),
    ...(changedFiles === null ? [] : [counted(changedFiles, 'changed file')]),
    waits.count === 0 ? 'no waits' : `waited ${duration(waits.ms, ' ')} (${counted(waits.count, 'wait')})`,
  ];
  return {
    at,
    type: 'totals',
    iteration: iteration === 0 ? null : iteration,
    text: `in all: ${parts.join('; ')}`,
    totals: {
      costUsd: total.source === null ? null : total.usd,
      costSource: total.source,
      runsOfUnknownCost: total.unknownRuns,
      tokens,
      runsOfUnknownTokens: total.unknownTokenRuns,
      runsOfEstimatedOutput: total.estimatedOutputRuns,
      spentByChildren: below,
      commits,
      changedFiles,
      waits: waits.count,
      waitedMs: waits.ms,
    },
  };
}
