import { closeSync, readSync } from 'node:fs';
import { openRegular } from '../files/files.ts';
import type { LoopEvent } from '../loop/event.ts';
import { checkHeader, damagedHeader, damagedLine, isIntact, readLine } from './lines.ts';

/**
 * The events of a journal, one by one: the memory that it needs does not grow with the journal. As in `readJournal`, an end
 * that was torn or destroyed is skipped, and damage before an intact line is an error with its line number, after the
 * events before it.
 */
export function* eventsIn(path: string): Generator<LoopEvent, void, void> {
  let number = 0;
  let damaged: number | null = null;
  for (const line of linesIn(path)) {
    number++;
    if (damaged !== null) {
      if (isIntact(line)) throw damagedLine(path, damaged);
      continue;
    }
    const event = number === 1 ? checkHeader(line.toString('utf8'), path) : readLine(line, number - 1, path);
    if (event === null && number === 1) throw damagedHeader(path);
    if (event === null) {
      // An intact line with another number proves that lines are missing.
      if (isIntact(line)) throw damagedLine(path, number);
      damaged = number;
    } else if (event !== 'header') yield event;
  }
}

/** The complete lines of a file. */
function* linesIn(path: string): Generator<Buffer, void, void> {
  const descriptor = openRegular(path, 'read');
  try {
    // Joined only when the line is complete: a long one must not be copied again for every chunk.
    let begun: Buffer[] = [];
    for (;;) {
      const chunk = Buffer.allocUnsafe(64 * 1024);
      const count = readSync(descriptor, chunk);
      if (count === 0) return;
      let start = 0;
      for (let end = endOfLine(chunk, 0, count); end >= 0; end = endOfLine(chunk, start, count)) {
        yield Buffer.concat([...begun, chunk.subarray(start, end)]);
        begun = [];
        start = end + 1;
      }
      begun.push(chunk.subarray(start, count));
    }
  } finally {
    closeSync(descriptor);
  }
}

function endOfLine(chunk: Buffer, from: number, count: number): number {
  return chunk.subarray(0, count).indexOf(10, from);
}
