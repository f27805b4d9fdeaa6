import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { harmless } from './terminal.ts';

/** Prints a short answer. Not through Node's streams, which take longer to load than most commands take to run. */
export function print(text: string): void {
  write(1, text);
}

/** Says something about the answer, where it does not get in its way. */
export function warn(text: string): void {
  write(2, text);
}

function write(descriptor: 1 | 2, text: string): void {
  // What agents have said may be in it.
  let rest = Buffer.from(isatty(descriptor) ? harmless(text) : text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      // A pipe that is full: the stream knows how to wait. A reader that is gone misses nothing.
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      if (isFull) (descriptor === 1 ? process.stdout : process.stderr).write(rest);
      return;
    }
  }
}
