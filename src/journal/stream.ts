import { closeSync, readSync } from 'node:fs';
import { openRegular } from '../files/files.ts';
import type { LoopEvent } from '../loop/event.ts';
import { checkHeader, damagedLine, readLine } from './file.ts';

/**
 * The events of a journal, one by one: the memory that it needs does not grow with the journal. As in `readJournal`, a torn
 * last line is skipped, and any other damage is an error with its line number, after the events before it.
 */
export function* eventsIn(path: string): Generator<LoopEvent, void, void> {
  let number = 0;
  let damaged: number | null = null;
  for (const line of linesIn(path)) {
    if (damaged !== null) throw damagedLine(path, damaged);
    number++;
    const event = number === 1 ? checkHeader(line.toString('utf8'), path) : readLine(line, number - 1);
    // A last line may be torn; another line after it proves damage.
    if (event === null) damaged = number;
    else if (event !== 'header') yield event;
  }
  if (damaged === 1) throw damagedLine(path, damaged);
}

/** The complete lines of a file. */
function* linesIn(path: string): Generator<Buffer, void, void> {
  const descriptor = openRegular(path, 'read');
  try {
    let rest: Buffer = Buffer.alloc(0);
    for (;;) {
      const chunk = Buffer.allocUnsafe(64 * 1024);
      const count = readSync(descriptor, chunk);
      if (count === 0) return;
      const content = Buffer.concat([rest, chunk.subarray(0, count)]);
      let start = 0;
      for (let end = content.indexOf(10); end >= 0; end = content.indexOf(10, start)) {
        yield content.subarray(start, end);
        start = end + 1;
      }
      rest = content.subarray(start);
    }
  } finally {
    closeSync(descriptor);
  }
}
