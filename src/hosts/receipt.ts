/** The receipt in a run's folder, for an owner that finds the run without a receipt in the journal. */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { PRIVATE_FILE } from '../files/files.ts';
import { readJsonFile } from '../files/read-json.ts';
import { replaceFile } from '../files/replace-file.ts';
import { fields, fits, shortText, whole } from '../loop/shape.ts';
import type { Birth } from '../process/process-table.ts';

export function writeReceipt(folder: string, birth: Birth): void {
  try {
    // An adopted run has one already.
    if (isDeepStrictEqual(readReceipt(folder), birth)) return;
    replaceFile(fileIn(folder), `${JSON.stringify(birth)}\n`, { mode: PRIVATE_FILE });
  } catch {
    // The journal has the receipt too, and the marker identifies the run.
  }
}

/** Null if there is no valid receipt. */
export function readReceipt(folder: string): Birth | null {
  const value = readJsonFile(fileIn(folder), MAX_BYTES);
  return isBirth(value) ? value : null;
}

function isBirth(value: unknown): value is Birth {
  return fits(BIRTH, value);
}

const text = shortText(200);
const BIRTH = fields({ pid: whole(1), startTime: text, bootId: text, pidNamespace: text });
const MAX_BYTES = 4000;

function fileIn(folder: string): string {
  return join(folder, 'receipt.json');
}
