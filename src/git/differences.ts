import { tell, type Repository } from './git.ts';

/** A file in which two trees differ. */
export interface Difference {
  /** From the top of the repository, in Latin 1: one character a byte. */
  readonly path: string;
  readonly kind: 'new' | 'changed' | 'gone';
  /** What it was, and what it is: `100644`, `160000` for a repository, `000000` for nothing. */
  readonly modes: readonly [string, string];
  /** The object that it was, and the one that it is. */
  readonly object: string;
  readonly becomes: string;
}

/** The files below the workspace that differ between two trees. */
export async function differences(
  repository: Repository,
  from: string,
  to: string,
): Promise<readonly Difference[]> {
  if (from === to) return [];
  return readDifferences(await tell(repository, ['diff-tree', '-r', ...RAW, from, to, '--', '.']));
}

/** How git tells differences so that they can be read. */
export const RAW: readonly string[] = ['-z', '--raw', '--no-renames', '--no-abbrev'];

/** What git prints so. */
export function readDifferences(raw: string): readonly Difference[] {
  const fields = raw.split('\0');
  const found: Difference[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [before = '', after = '', object = '', becomes = '', status = ''] = (fields[at] ?? '').split(' ');
    const kind = status === 'A' ? 'new' : status === 'D' ? 'gone' : 'changed';
    found.push({ path: fields[at + 1] ?? '', kind, modes: [before.slice(1), after], object, becomes });
  }
  return found;
}

export const A_REPOSITORY = '160000';
