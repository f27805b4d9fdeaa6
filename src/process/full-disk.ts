import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Throws the error of the file system if the disk of a folder has no space left. */
export function refuseFullDisk(folder: string): void {
  const file = join(folder, `space-${process.pid}`);
  try {
    writeFileSync(file, PROBE);
  } catch (error) {
    if (error instanceof Error && 'code' in error && isFull(String(error.code))) throw error;
  } finally {
    rmSync(file, { force: true });
  }
}

/** Whether the disk of a folder has no space left. */
export function isDiskFullAt(folder: string): boolean {
  try {
    refuseFullDisk(folder);
    return false;
  } catch {
    return true;
  }
}

function isFull(code: string): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** One block: less may fit into a file that exists. */
const PROBE = Buffer.alloc(4096);
