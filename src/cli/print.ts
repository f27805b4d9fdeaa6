import { fstatSync, writeSync } from 'node:fs';
import { columns } from '../text/columns.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { escapeInJson, sanitize } from '../text/terminal.ts';
import { jsonWithoutCommands, obeysCommands, withoutCommands } from '../text/workflow-commands.ts';
import { asTyped } from './typed-name.ts';

/**
 * Prints to stdout, synchronously: Node's streams take longer to load than most commands take to run. Returns whether
 * there is still a reader.
 */
export function print(text: string): boolean {
  return write(1, asTyped(text));
}

/** Prints a text in which commands are no advice to the person at the terminal: a document, or the words of others. */
export function printAsIs(text: string): boolean {
  return write(1, text);
}

/** Prints a value as JSON, on one line or indented. */
export function printJson(value: unknown, indent?: number): boolean {
  return printAsIs(`${jsonOf(value, indent)}\n`);
}

/** JSON that gives no commands to a terminal or to the runner of a CI job, even if its texts would. */
export function jsonOf(value: unknown, indent?: number): string {
  const json = escapeInJson(JSON.stringify(value, null, indent));
  return obeysCommands(process.env) ? jsonWithoutCommands(json) : json;
}

/** Prints rows in columns that fit the terminal. */
export function printColumns(rows: readonly (readonly string[])[]): void {
  printAsIs(columns(rows, { width: terminalWidth() }));
}

/** Who reads stdout: where their home is, when they read, how wide it is, and under which name they know Ralph. */
export function readerHere(): {
  readonly home: string | undefined;
  readonly now: number;
  readonly width: number;
  readonly advise: typeof asTyped;
} {
  return { home: process.env['HOME'], now: Date.now(), width: terminalWidth(), advise: asTyped };
}

/** The columns of the terminal that stdout is; unlimited for a file, a pipe or a terminal that does not know its width. */
export function terminalWidth(): number {
  return terminalSize('columns');
}

/** The same for its lines. */
export function terminalHeight(): number {
  return terminalSize('rows');
}

function terminalSize(side: 'columns' | 'rows'): number {
  try {
    // Cheaper than `isatty`, which loads half of Node's networking.
    if (!fstatSync(1).isCharacterDevice() || !process.stdout.isTTY) return Infinity;
    return process.stdout[side] > 0 ? process.stdout[side] : Infinity;
  } catch {
    return Infinity;
  }
}

/** Prints to stderr. */
export function warn(text: string): void {
  write(2, asTyped(text));
}

/** The same for a command of the user, or settings. */
export function warnAsIs(text: string): void {
  write(2, text);
}

/** Warns that the files of a loop cannot be read, for a command that needs only those that can. */
export function warnUnreadable({ trouble }: { readonly trouble: string | null }): void {
  if (trouble !== null) warn(`ralph: warning: ${trouble}\n`);
}

function write(descriptor: 1 | 2, text: string): boolean {
  let rest = Buffer.from(harmless(text, mayBeTerminal(descriptor)));
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      // On a full pipe the stream waits; a reader that is gone misses nothing.
      if (code === 'EAGAIN') {
        (descriptor === 1 ? process.stdout : process.stderr).write(rest);
      } else if (descriptor === 1 && !READER_IS_GONE.has(code)) throw cannotPrint(error);
      return code === 'EAGAIN';
    }
  }
  return true;
}

/** A text that may contain output of agents, for a terminal or for a pipe or file. */
export function harmless(text: string, isTerminal: boolean): string {
  const sanitized = sanitize(text, isTerminal);
  return !isTerminal && obeysCommands(process.env) ? withoutCommands(sanitized) : sanitized;
}

/** Also a terminal that was closed. */
export const READER_IS_GONE: ReadonlySet<unknown> = new Set(['EPIPE', 'EIO', 'EBADF']);

/** The error of a stdout that takes nothing, such as a file on a full disk. */
export function cannotPrint(error: unknown): UserError {
  return new UserError(`cannot write to stdout: ${reasonOf(error)}`, 3, { cause: error });
}

/** Cheaper than `isatty`, which loads half of Node's networking; colours do no harm on other devices. */
function mayBeTerminal(descriptor: 1 | 2): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch {
    return false;
  }
}
