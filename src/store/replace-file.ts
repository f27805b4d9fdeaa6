import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Writes a temporary file and renames it: a reader sees either the old file or the new one, never a part. */
export function replaceFile(path: string, content: string, options: ReplaceOptions = {}): void {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}`);
  try {
    writeFileSync(temporary, content, options);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

export interface ReplaceOptions {
  readonly mode?: number;
  /** Sync the content to disk, so that it survives a crash of the machine. */
  readonly flush?: boolean;
}
