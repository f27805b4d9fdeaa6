import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Writes a file aside and renames it in: whoever reads it sees all of the old one or all of the new one. */
export function replaceFile(path: string, content: string, options: ReplaceOptions = {}): void {
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}`);
  try {
    writeFileSync(aside, content, options);
    renameSync(aside, path);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
}

export interface ReplaceOptions {
  readonly mode?: number;
  /** It must survive a crash of the machine, too. */
  readonly flush?: boolean;
}
