import { lstatSync } from 'node:fs';
import { intactCopy } from '../journal/own-copy.ts';
import { shellQuote } from '../process/shell-quote.ts';

/** The command that puts the intact copy of a journal back, if its owner has kept one; null otherwise. */
export function putBack(journal: string): string | null {
  const kept = intactCopy(journal);
  if (kept === null) return null;
  const path = shellQuote(journal);
  // `mv` would move the copy into a folder.
  const isFolder = lstatSync(journal, { throwIfNoEntry: false })?.isDirectory() === true;
  return `${isFolder ? `rm -r ${path} && ` : ''}mv ${shellQuote(kept)} ${path}`;
}

/** What people should know about a journal that another process has changed; `trouble` if it cannot be read for that. */
export function changedJournal(journal: string, remedy: string, trouble: string | null = null): string {
  return `${trouble ?? `another process has changed ${journal}`}; put back the intact copy of its owner with: ${remedy}`;
}
