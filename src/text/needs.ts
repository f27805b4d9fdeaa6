/** Which loops of a list need a person, and for what. */
import { counted } from '../loop/counted.ts';
import type { LoopRow } from '../loops/list.ts';
import { cellsOf } from './list.ts';
import { rowNeedsPerson } from './look-first.ts';
import { brief, visible } from './one-line.ts';

/** What a loop needs a person for, in a few words; null if it needs none. */
export function needOf(row: LoopRow): string | null {
  const { status, questions = [], record, waiting } = row;
  const [question] = questions;
  if (question !== undefined) return `asks: ${brief(visible(question.text))}`;
  // The person who has paused a loop knows that it does not go on, and the next daemon continues one that was left.
  if (status === 'paused' || status === 'left') return null;
  if (rowNeedsPerson(row)) return cellsOf(row, 0, 0, 0).state;
  if (status !== 'running' && status !== 'in-session') return null;
  if (waiting?.startsWith('usage limit') === true && !waiting.includes(' until '))
    return 'usage limit without a reset';
  const isRejected = record.rejectedClaims > 1 && record.failingChecks.length > 0;
  return isRejected ? `${counted(record.rejectedClaims, 'claim')} rejected` : null;
}
