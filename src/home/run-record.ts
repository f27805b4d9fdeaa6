/**
 * `run-info.yaml` of document 000: the record of one run, for people and other programs.
 *
 * 1. A record is replaced as a whole by a synced file: a reader sees the old one or the new one, never a part of it.
 * 2. Ralph makes the records of its own runs from the journal and never reads them. Records of other programs are read with
 *    a limit, checked and never followed through a link; fields that Ralph does not know are kept.
 * 3. Ralph changes a record of another program only under the lock `run-info.yaml.lock`.
 */
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml, toYaml } from '../bus/yaml.ts';
import { openRegular, readRegular } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { describeProblem, fields, nullable, optional, rule, string } from '../loop/shape.ts';
import { flockWithin } from '../process/flock.ts';

/** The fields in their order in the file; those that may be absent are left out where they are empty. */
export interface RunRecord {
  readonly version: 1;
  readonly run_id: string;
  readonly parent_run_id?: string;
  /** The run before this one: it links restarts. */
  readonly previous_run_id?: string;
  readonly project_id: string;
  readonly task_id: string;
  readonly agent: string;
  readonly process_ownership?: 'managed' | 'external';
  readonly pid: number;
  readonly pgid: number;
  readonly start_time: Date;
  /** `RUNNING_UNTIL` while the run is open. */
  readonly end_time: Date;
  /** -1 while the run is open, and if the code is unknown. */
  readonly exit_code: number;
  /** `stopped` for a run that handed over to a person. */
  readonly status: 'running' | 'completed' | 'failed' | 'stopped';
  readonly cwd?: string;
  readonly prompt_path?: string;
  readonly output_path?: string;
  readonly stdout_path?: string;
  readonly stderr_path?: string;
  readonly commandline?: string;
  readonly error_summary?: string;
  readonly agent_version: string;
}

export const RECORD_FILE = 'run-info.yaml';
/** The zero time of document 000. */
export const RUNNING_UNTIL: Date = new Date('0001-01-01T00:00:00Z');

/** Writes a record into a folder. */
export function writeRecord(folder: string, record: RunRecord | Readonly<Record<string, unknown>>): void {
  const text = toYaml({ ...record });
  replaceFile(join(folder, RECORD_FILE), text, { mode: 0o644, flush: true });
}

/** A record that another program has written: only what was checked is known of it. */
export interface ForeignRecord extends Readonly<Record<string, unknown>> {
  readonly run_id?: string | null;
  readonly parent_run_id?: string | null;
  readonly pgid: number;
  readonly end_time?: string | null;
  readonly exit_code?: number | null;
}

/**
 * Reads the record in a folder; null if there is none. Throws if it is no record, or longer than what is left to be read. YAML
 * takes a second for a megabyte, so who reads many records passes the same `left` for all.
 */
export function readRecord(
  folder: string,
  left: { bytes: number } = { bytes: MAX_BYTES },
): ForeignRecord | null {
  const content = readRegular(join(folder, RECORD_FILE), Math.min(MAX_BYTES, left.bytes));
  if (content === null) return null;
  left.bytes -= content.length;
  const value = parseYaml(content.toString('utf8'));
  const [problem] = FOREIGN(value, '');
  if (problem !== undefined) throw new Error(describeProblem(problem));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its shape was checked
  return value as ForeignRecord;
}

const MAX_BYTES = 64 * 1024;
const wholeNumber = rule('a whole number', Number.isSafeInteger);
const FOREIGN = fields({
  run_id: optional(nullable(string)),
  parent_run_id: optional(nullable(string)),
  pgid: wholeNumber,
  end_time: optional(nullable(string)),
  exit_code: optional(nullable(wholeNumber)),
});

/** Whether a record says that its run has not ended. */
export function isOpen({ end_time: end }: ForeignRecord): boolean {
  return end === undefined || end === null || end === '' || end.startsWith('0001-01-01');
}

/**
 * The record of a run whose process is gone. If `DONE` exists, the run is taken for a completed one; the record of an
 * active child is closed as failed in any case.
 */
export function closed(
  record: ForeignRecord,
  now: Date,
  { isDone }: { readonly isDone: boolean },
): Readonly<Record<string, unknown>> {
  const { start_time: start, exit_code: code } = record;
  const unknownCode = code === undefined || code === null || code === 0 ? -1 : code;
  const what = isDone ? 'task DONE marker is present' : 'process is not alive';
  return {
    ...record,
    // Times are read as texts, and a text would be written in quotation marks.
    ...(typeof start === 'string' && !Number.isNaN(Date.parse(start)) ? { start_time: new Date(start) } : {}),
    end_time: now,
    status: isDone ? 'completed' : 'failed',
    exit_code: isDone ? 0 : unknownCode,
    error_summary: `reconciled stale running status: ${what}`,
  };
}

/**
 * Changes a record under its lock; `change` gets the record as it is then, and returns null to leave it. `within` calls its
 * argument with a path to the folder that is valid during the call. Whether the lock could be had in time.
 */
export async function updateRecord(
  within: <T>(use: (folder: string) => T) => T,
  change: (record: ForeignRecord) => Readonly<Record<string, unknown>> | null,
  { lockWithinMs = LOCK_WITHIN_MS }: { readonly lockWithinMs?: number } = {},
): Promise<boolean> {
  const descriptor = within((folder) => openRegular(join(folder, `${RECORD_FILE}.lock`), 'lock', 0o644));
  try {
    if ((await flockWithin(descriptor, lockWithinMs)) === false) return false;
    within((folder) => {
      const record = readRecord(folder);
      const changed = record === null ? null : change(record);
      if (changed !== null) writeRecord(folder, changed);
    });
    return true;
  } finally {
    closeSync(descriptor);
  }
}

const LOCK_WITHIN_MS = 5000;
