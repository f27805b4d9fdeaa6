/** Which errors of a root runner end the loop of document 000; every other one is an attempt. */
import type { ErrorKind } from '../loop/event.ts';
import { UserError } from '../user-error.ts';

/** The kind of a fatal error, by its fields and by those of the errors that it was made from; else undefined. */
export function fatalKind(error: unknown, depth: number = 0): ErrorKind | undefined {
  if (typeof error !== 'object' || error === null || depth > MAX_DEPTH) return undefined;
  const field = (name: string): unknown => Reflect.get(error, name);
  if (field('fatal') === true || error instanceof UserError) return 'invalid-configuration';
  for (const name of ['code', 'exitCode', 'status']) {
    const kind = KINDS.get(field(name));
    if (kind !== undefined) return kind;
  }
  return fatalKind(field('cause'), depth + 1);
}

/** Codes of system errors, and exit codes of shells. */
const KINDS: ReadonlyMap<unknown, ErrorKind> = new Map<unknown, ErrorKind>([
  ['ENOENT', 'command-not-found'],
  ['EACCES', 'not-executable'],
  ['EPERM', 'not-executable'],
  [126, 'not-executable'],
  [127, 'command-not-found'],
]);
const MAX_DEPTH = 10;
