import type { WordingPolicy } from '../loop/policy.ts';
import { endRecord } from '../store/end-record.ts';
import { maskOf } from '../store/mask.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { oneLine } from './terminal.ts';
import { filled } from './wording.ts';

/** What `ralph wait` says about a loop that is not running any more, and how it exits: as the loop does. */
export interface RestLine {
  readonly line: string;
  readonly exitCode: number;
}

export function restLine(loop: LoopReading): RestLine {
  const { state, report, spec, trouble } = loop;
  if (trouble !== null) return { line: `${spec.name}: ${trouble}`, exitCode: 2 };
  const { status, reason, exitCode, next } = endRecord(state, report, spec);
  if (state.outcome === null) return { line: `${spec.name}: ${status}; continue it with: ${next}`, exitCode };
  return (
    documentedLine(state.policy.wording, spec.name) ?? {
      line: `${spec.name}: ${oneLine(maskOf(spec).text(reason))}`,
      exitCode,
    }
  );
}

/** About a loop whose files are gone; its outcome is unknown. */
export function removedLine({ state, spec: { name } }: LoopReading): RestLine {
  return documentedLine(state.policy.wording, name) ?? { line: `${name}: removed`, exitCode: 1 };
}

/** Where a document prescribes the line, it prescribes the exit code 0 too. */
function documentedLine({ exitedLine }: WordingPolicy, name: string): RestLine | null {
  return exitedLine === null ? null : { line: filled(exitedLine, { name }), exitCode: 0 };
}
