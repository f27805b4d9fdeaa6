import { closeSync, openSync, rmSync, writeSync } from 'node:fs';

/** Creates a file with its whole content, or leaves nothing. */
export function writeNew(path: string, content: Buffer, mode: number): void {
  const file = openSync(path, 'wx', mode);
  try {
    for (let at = 0; at < content.length;) at += writeSync(file, content, at);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}
