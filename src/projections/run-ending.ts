import type { RunEnding } from '../loop/event.ts';
import type { Run } from '../loop/state.ts';
import type { RunRecord } from '../store/run-record.ts';

/** How a run ended in the words of document 000. */
export function howItEnded({ ended }: Run): {
  readonly status: RunRecord['status'];
  readonly exitCode: number;
  readonly summary: string | null;
} {
  if (ended === null) return { status: 'running', exitCode: UNKNOWN, summary: null };
  const { ending, as } = ended;
  const exitCode = ('code' in ending ? ending.code : null) ?? UNKNOWN;
  if (as === 'ok') return { status: 'completed', exitCode, summary: null };
  if (as === 'wait') return { status: 'stopped', exitCode, summary: null };
  return { status: 'failed', exitCode, summary: summaryOf(ending) };
}

const UNKNOWN = -1;

function summaryOf(ending: RunEnding): string {
  switch (ending.how) {
    case 'timed-out':
      return ending.which === 'output' ? 'agent exceeded the output limit' : 'timed out';
    case 'interrupted':
      return 'interrupted';
    case 'not-started':
      return ending.error.message;
    case 'exited':
      if (ending.code === null) return 'agent exited, exit code unknown';
      // Its output reports an error.
      if (ending.code === 0) return ending.error?.message ?? 'agent reported failure';
      return SUMMARIES.get(ending.code) ?? `agent exited with code ${ending.code}`;
  }
}

const SUMMARIES: ReadonlyMap<number, string> = new Map([
  [1, 'agent reported failure'],
  [2, 'agent usage error'],
  [137, 'agent killed (OOM or signal)'],
  [143, 'agent terminated (SIGTERM)'],
]);
