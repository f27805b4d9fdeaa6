import {
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Gives a new state folder the compiled code that commands of earlier tests have kept in theirs (`src/cli/code-cache.ts`), and returns
 * what hands on the code that this one has in the end. Users have it after their first few commands; without it every command of
 * a test would compile itself, and write down what it compiled.
 */
export function shareCode(state: string): () => void {
  if (SHARED === null) return () => {};
  mkdirSync(SHARED, { recursive: true });
  const own = join(state, 'ralph', 'code');
  mkdirSync(own, { recursive: true, mode: 0o700 });
  if (statSync(own).dev !== statSync(SHARED).dev) return () => {};
  // No file is changed once it has its name, so all of them can be the same.
  for (const name of codeIn(SHARED)) linkSync(join(SHARED, name), join(own, name));
  return () => handOn(own, SHARED);
}

/** In the folder that is removed after the tests; without one, and on another disk, nothing is shared. */
const SHARED = process.env['RALPH_TEST_DISK'] === undefined ? null : join(tmpdir(), 'code');

function handOn(from: string, to: string): void {
  for (const name of codeIn(from)) {
    if (writersOf(join(from, name)) <= writersOf(join(to, name))) continue;
    const temporary = join(to, `${name}.${process.pid}`);
    linkSync(join(from, name), temporary);
    renameSync(temporary, join(to, name));
  }
}

/** Without files that are not written to the end. */
function codeIn(folder: string): readonly string[] {
  return lstatSync(folder, { throwIfNoEntry: false }) === undefined
    ? []
    : readdirSync(folder).filter((name) => /-[\da-f]{8}$/.test(name));
}

/** How many commands have added to it, which is its first character; 0 if there is none. */
function writersOf(file: string): number {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return 0;
  const descriptor = openSync(file, 'r');
  const first = Buffer.alloc(1);
  readSync(descriptor, first, 0, 1, 0);
  closeSync(descriptor);
  return Number(first.toString());
}
