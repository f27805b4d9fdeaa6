/** What every command says about a loop whose journal cannot be used: what happened, and what to do. */
import { lstatSync } from 'node:fs';
import { JournalError } from '../journal/journal.ts';
import { intactCopy } from '../journal/own-copy.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import { reasonOf } from '../user-error.ts';
import type { LoopFolder } from './home.ts';

export interface JournalProblem {
  readonly message: string;
  /** The command that comes next; null if none helps. */
  readonly remedy: string | null;
}

/** `error` is why the journal cannot be read; null if it can. Returns null if there is nothing wrong. `owner` drives the loop now. */
export function journalProblem(
  { journal, name }: Pick<LoopFolder, 'journal' | 'name'>,
  error: unknown,
  owner: number | null,
): JournalProblem | null {
  // The owner has not seen yet what happened to its journal, or it has and is about to end.
  const copy = owner === null ? putBack(journal) : null;
  if (error === null && copy === null) return null;
  const what =
    error === null
      ? `another process has changed ${journal}`
      : error instanceof JournalError
        ? error.message
        : `cannot read ${journal}: ${reasonOf(error)}`;
  const told = (advice: string, remedy: string): JournalProblem => ({
    message: `${what}; ${advice}: ${remedy}`,
    remedy,
  });
  // What another process has made of the journal does not count, whatever it is.
  if (copy !== null) return told('put back the intact copy of its owner with', copy);
  if (error instanceof JournalError && error.reason === 'version') return { message: what, remedy: null };
  if (owner !== null)
    return told(`its owner (process ${owner}) still runs; wait for its end with`, `ralph wait ${name}`);
  return told('restore the file from a backup, or remove the loop with', `ralph rm ${name}`);
}

/** The command that puts the intact copy of a journal back, if its owner has kept one; null otherwise. */
export function putBack(journal: string): string | null {
  const kept = intactCopy(journal);
  if (kept === null) return null;
  const path = shellQuote(journal);
  // `mv` would move the copy into a folder.
  const isFolder = lstatSync(journal, { throwIfNoEntry: false })?.isDirectory() === true;
  return `${isFolder ? `rm -r ${path} && ` : ''}mv ${shellQuote(kept)} ${path}`;
}
