import { fstatSync, writeSync } from 'node:fs';
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
  let rest = Buffer.from(mayBeTerminal(descriptor) ? harmless(text) : text);
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

/** Cheaper than to ask whether it is one, which loads half of Node's networking; no other device minds. */
function mayBeTerminal(descriptor: 1 | 2): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch {
    return false;
  }
}
