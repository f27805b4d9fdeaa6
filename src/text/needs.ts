/** Which loops of a list need a person, and for what. */
import type { LoopRow } from '../loops/list.ts';
import { counted } from '../loop/counted.ts';
import { cellsOf } from './list.ts';
import { rowNeedsPerson } from './look-first.ts';

/** What a loop needs a person for, in a few words; null if it needs none. */
export function needOf(row: LoopRow): string | null {
  const { status, questions = [], record, waiting } = row;
  // The person who has paused it knows.
  if (status === 'paused' && questions.length === 0) return null;
  const { state, reason } = cellsOf(row, 0, Infinity, 0);
  if (rowNeedsPerson(row))
    return reason === '' || questions.length > 0 ? reason || state : `${state}: ${reason}`;
  if (status !== 'running' && status !== 'in-session') return null;
  if (waiting?.startsWith('usage limit') === true && !waiting.includes(' until '))
    return `waiting: ${waiting}`;
  return record.rejectedClaims < 2 ? null : counted(record.rejectedClaims, 'rejected claim');
}
