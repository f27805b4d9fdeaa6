/** The receipt in a run's folder, for an owner that finds the run without a receipt in the journal. */
import { join } from 'node:path';
import { PRIVATE_FILE, textOf } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { Birth } from '../process/process-table.ts';

export function writeReceipt(folder: string, birth: Birth): void {
  try {
    replaceFile(fileIn(folder), `${JSON.stringify(birth)}\n`, { mode: PRIVATE_FILE });
  } catch {
    // The journal has the receipt too, and the marker identifies the run.
  }
}

/** Null if there is no valid receipt. */
export function readReceipt(folder: string): Birth | null {
  try {
    const value: unknown = JSON.parse(textOf(fileIn(folder)) ?? 'null');
    if (typeof value !== 'object' || value === null) return null;
    const { pid, startTime, bootId, pidNamespace } = value as Partial<Birth>;
    if (pid === undefined || startTime === undefined || bootId === undefined || pidNamespace === undefined)
      return null;
    return { pid, startTime, bootId, pidNamespace };
  } catch {
    return null;
  }
}

function fileIn(folder: string): string {
  return join(folder, 'receipt.json');
}
