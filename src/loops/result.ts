import type { EndRecord } from '../projections/end-record.ts';
import { readExcerpt } from '../files/excerpts.ts';
import { excerpt } from '../loop/excerpt.ts';
import type { Outcome, StopReason } from '../loop/outcome.ts';
import { report } from '../loop/report.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import type { Mask } from '../home/mask.ts';
import { putBack } from '../home/journal-problem.ts';
import { readEvents } from '../home/read-loop.ts';
import type { JournalError } from '../journal/journal.ts';
import { hideKeys } from '../loop/secrets.ts';

/** The result of a loop, with the names of document 002; times are in seconds. */
export interface LoopResult {
  readonly iterations: readonly LoopIteration[];
  readonly totalIterations: number;
  /** In dollars; runs of unknown cost count as 0. */
  readonly totalCost: number;
  /** Whether the cost of every run is known. */
  readonly costIsKnown: boolean;
  /** In seconds. */
  readonly totalDuration: number;
  readonly success: boolean;
  /** The document's stop reason, the type of the outcome if the document has none, or `paused`. */
  readonly stopReason: StopReason | Outcome['type'] | 'paused';
  /** The path of the worktree; null if there is none. */
  readonly worktreePath: string | null;
  readonly name: string;
  /** Null if the loop is paused. */
  readonly outcome: Outcome | null;
  /** Why the loop stopped, as a sentence. */
  readonly reason: string;
  /** The exit code of the command. */
  readonly exitCode: number;
  /** Tests, files that checks run and protected files that the agent changed or deleted. */
  readonly evidence: EndRecord['evidence'];
  /** What the last look at the plan found; null without a plan. */
  readonly plan: EndRecord['plan'];
  /** Limits that were changed while the loop ran. */
  readonly limitChanges: EndRecord['limitChanges'];
}

export interface LoopIteration {
  /** From 1. */
  readonly iteration: number;
  readonly stepsTaken: number;
  /** In dollars; runs of unknown cost count as 0. */
  readonly cost: number;
  readonly costIsKnown: boolean;
  /** In seconds. */
  readonly duration: number;
  readonly checkResults: readonly {
    readonly name: string;
    readonly passed: boolean;
    /** The last 2000 characters. */
    readonly output: string;
  }[];
  readonly allChecksPassed: boolean;
  readonly completionTagFound: boolean;
  readonly error: string | null;
}

/** A loop that has ended or paused. */
export type EndedLoop = Pick<OwnedLoop, 'folder' | 'spec' | 'end' | 'mask'>;

/** The result of a loop, from its journal. */
export function loopResult(loop: EndedLoop): LoopResult {
  return resultOf(report(readEvents(loop.folder)), loop.mask.value(loop.end()), loop);
}

function resultOf(
  known: ReturnType<typeof report>,
  end: EndRecord,
  { spec, folder, mask }: EndedLoop,
): LoopResult {
  return {
    iterations: known.iterations.map((one) => ({
      iteration: one.iteration,
      stepsTaken: one.stepsTaken,
      cost: one.cost,
      costIsKnown: one.costIsKnown,
      duration: one.duration / 1000,
      checkResults: one.checkResults.map(({ name, passed, log }) => {
        return { name: hideKeys(name), passed, output: checkOutput(folder.log(log), mask) };
      }),
      allChecksPassed: one.allChecksPassed,
      completionTagFound: one.completionTagFound,
      error: mask.value(one.error),
    })),
    totalIterations: known.iterations.length,
    totalCost: known.totalCost,
    costIsKnown: known.costIsKnown,
    totalDuration: known.totalDuration / 1000,
    success: known.success,
    stopReason: known.stopReason ?? known.outcome?.type ?? 'paused',
    worktreePath: spec.worktree?.path ?? null,
    name: end.name,
    outcome: known.outcome,
    reason: end.reason,
    exitCode: end.exitCode,
    evidence: end.evidence,
    plan: end.plan,
    limitChanges: end.limitChanges,
  };
}

/** The last 2000 characters that a check has printed, masked before they are cut: a part of a secret cannot be recognised. */
export function checkOutput(log: string, mask: Mask): string {
  return excerpt(mask.text(readExcerpt(log, OUTPUT)), OUTPUT);
}

const OUTPUT = { side: 'tail', chars: 2000, marker: '' } as const;

/** How a loop ended whose journal could not be written any more. */
export interface LostEnd {
  readonly record: Omit<EndRecord, 'status' | 'next'> & { readonly status: 'fatal'; readonly next: string };
  /** The disk was full: the journal is intact up to there. */
  readonly isWhole: boolean;
  /** The command that puts the intact copy of the journal back; null if there is none, or none is needed. */
  readonly remedy: string | null;
}

export function lostEnd(loop: Pick<OwnedLoop, 'spec' | 'folder' | 'end'>, error: JournalError): LostEnd {
  const { name } = loop.spec;
  const isWhole = error.reason === 'disk-full';
  const remedy = isWhole ? null : putBack(loop.folder.journal);
  // Without a copy, the commands that look at the journal say what to do.
  const next = isWhole ? `ralph resume ${name}` : (remedy ?? `ralph status ${name}`);
  return {
    record: { ...loop.end(), status: 'fatal', reason: error.message, exitCode: 3, next },
    isWhole,
    remedy,
  };
}
