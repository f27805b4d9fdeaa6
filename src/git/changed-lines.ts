import { gitOutput, utf8, type Repository } from './git.ts';

/** A file in which two trees differ, with its changed lines. */
export interface ChangedLines {
  /** From the workspace. */
  readonly path: string;
  readonly kind: 'new' | 'changed' | 'gone';
  /** Null for a file that git takes for a binary one. */
  readonly added: number | null;
  readonly removed: number | null;
}

/** The files below the workspace that differ between two trees or commits, with the number of changed lines. */
export async function changedLines(
  repository: Repository,
  from: string,
  to: string,
): Promise<readonly ChangedLines[]> {
  if (from === to) return [];
  return parseChangedLines(await gitOutput(repository, ['diff-tree', ...OPTIONS, from, to, '--', '.']));
}

/** Git appends the counts to the list of the files. No program of the repository converts a file before it counts. */
const OPTIONS: readonly string[] =
  '-r -z --raw --numstat --no-renames --no-abbrev --relative --no-ext-diff --no-textconv'.split(' ');

export function parseChangedLines(output: string): readonly ChangedLines[] {
  const kinds = new Map<string, ChangedLines['kind']>();
  const files: ChangedLines[] = [];
  const fields = output.split('\0');
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] ?? '';
    if (field.startsWith(':')) {
      const letter = field.slice(-1);
      at++;
      kinds.set(fields[at] ?? '', letter === 'A' ? 'new' : letter === 'D' ? 'gone' : 'changed');
      continue;
    }
    const [, added = '', removed = '', path = ''] = /^(\d+|-)\t(\d+|-)\t(.+)$/s.exec(field) ?? [];
    const kind = kinds.get(path);
    if (kind === undefined) continue;
    files.push({ path: utf8(path), kind, added: countOf(added), removed: countOf(removed) });
  }
  return files;
}

function countOf(text: string): number | null {
  return text === '-' ? null : Number(text);
}
