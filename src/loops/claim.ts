/**
 * The claim of an agent by a file, and what failed checks printed, for the agent itself. Both are files in its workspace, which a
 * sandbox shows too.
 */
import { isInside } from '../files/files.ts';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { below } from '../files/below.ts';
import { createFile } from '../files/replace-file.ts';
import { maskHere } from '../home/mask.ts';
import { readOutput } from '../projections/check-output.ts';
import { UserError } from '../user-error.ts';
import type { OwnLoop } from './own-loop.ts';

/** Creates the marker with a note; false if there is one. No folder on the way may be a link. `tree` is where the agent works. */
export function createMarker(path: string, note: string, { workspace }: OwnLoop, tree: string): boolean {
  const root = [workspace, tree].find((one) => isInside(one, path));
  if (root === undefined) throw new UserError(`cannot create ${path}: it is outside of the workspace`);
  return below(root, foldersBetween(root, path), { make: true }, (folder) =>
    createFile(join(folder, basename(path)), note === '' ? '' : `${note.trimEnd()}\n`),
  );
}

/** What a failed check printed: the failing tests, or the end of its log; empty if the log is not in the workspace folder. */
export function failedOutput(log: string, { workspace, workspaceFolder }: OwnLoop): string {
  const path = isAbsolute(log) ? log : join(workspace, log);
  if (!isInside(workspaceFolder.path, path)) return '';
  const mask = maskHere();
  const parts = [...workspaceFolder.parts, ...foldersBetween(workspaceFolder.path, path)];
  try {
    return below(workspace, parts, { make: false }, (folder) =>
      readOutput(join(folder, basename(path)), EXCERPT, (text) => mask.text(text)),
    ).slice(-EXCERPT.chars);
  } catch {
    return '(its log is not there any more)';
  }
}

const EXCERPT = { side: 'failures', chars: 5000, marker: '' } as const;

function foldersBetween(root: string, path: string): readonly string[] {
  return relative(root, dirname(path)).split('/').filter(Boolean);
}
