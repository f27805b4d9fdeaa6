/** Whether a disk is full: then a program that failed says nothing about its work. */
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, naming } from '../files/files.ts';

/**
 * Throws the error of the file system if there is no space left: in a folder of Ralph's own, where it tries to write, or in
 * the folder that a program worked in.
 */
export function refuseFullDisk(own: string, work: string): void {
  refuseFailedWrite(own);
  if (hasNoSpace(work)) throw noSpace(work);
}

/**
 * Throws the same error if git, which worked in a folder and failed, has reported a full disk. It removes what it could not
 * complete, so there may be some space left by now.
 */
export function refuseReportedFullDisk(report: string, work: string): void {
  if (NO_SPACE.test(report) || hasNoSpace(work)) throw noSpace(work);
}

/** A message of git itself, in its output or in an error that quotes it; not one of a hook or of the remote. */
const NO_SPACE =
  /(?:^|; |failed: )(?:fatal|error): [^;\n]*(?:: (?:No space left on device|Disk quota exceeded)| write error\. Out of diskspace)\s*(?:$|;)/m;

function noSpace(path: string): Error {
  return Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', path });
}

function refuseFailedWrite(folder: string): void {
  const file = join(folder, `space-${process.pid}`);
  try {
    naming(folder, () => writeFileSync(file, PROBE));
  } catch (error) {
    if (codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT') throw error;
  } finally {
    rmSync(file, { force: true });
  }
}

function hasNoSpace(folder: string): boolean {
  try {
    const { bavail, bfree, bsize } = statfsSync(folder);
    // The last blocks are reserved for root.
    return (process.getuid?.() === 0 ? bfree : bavail) * bsize < PROBE.length;
  } catch {
    return false;
  }
}

/** One block: less may fit into a file that exists. */
const PROBE = Buffer.alloc(4096);
