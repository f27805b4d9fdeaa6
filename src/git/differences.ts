import { gitOutput, type Repository } from './git.ts';

/** A file in which two trees differ. */
export interface Difference {
  /** From the top of the repository, in Latin-1. */
  readonly path: string;
  readonly kind: 'new' | 'changed' | 'gone';
  /** The modes before and after: `100644`, `160000` for a repository, `000000` for no file. */
  readonly modes: readonly [string, string];
  /** The object before. */
  readonly object: string;
  /** The object after. */
  readonly becomes: string;
}

/** The files below the workspace that differ between two trees or commits, given by their ids. */
export async function differences(
  repository: Repository,
  from: string,
  to: string,
): Promise<readonly Difference[]> {
  if (from === to) return [];
  return parseDifferences(
    await gitOutput(repository, ['diff-tree', '-r', ...RAW_OPTIONS, from, to, '--', '.']),
  );
}

/** The options that make git print differences as `parseDifferences` reads them. */
export const RAW_OPTIONS: readonly string[] = ['-z', '--raw', '--no-renames', '--no-abbrev'];

export function parseDifferences(raw: string): readonly Difference[] {
  const fields = raw.split('\0');
  const found: Difference[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [before = '', after = '', object = '', becomes = '', status = ''] = (fields[at] ?? '').split(' ');
    const kind = status === 'A' ? 'new' : status === 'D' ? 'gone' : 'changed';
    found.push({ path: fields[at + 1] ?? '', kind, modes: [before.slice(1), after], object, becomes });
  }
  return found;
}

/** The mode of a repository within a tree, such as a submodule. */
export const GITLINK_MODE = '160000';
