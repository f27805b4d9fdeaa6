/**
 * The state of document 004, one file per session: `<folder of sessions>/<session>/ralph-loop-state.json`. It says which loop
 * a session has and shows its iteration; the truth is the loop's journal.
 *
 * 1. A session id is checked before it becomes a path.
 * 2. A file is believed only if it has the shape of a state and names the session whose folder it is in.
 * 3. A reader sees a whole state or none, and only this user may read it: a task may contain secrets.
 * 4. The folder of a session is there only while it has a state, so an empty folder of sessions means that no session has a
 *    loop.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { below } from '../files/below.ts';
import {
  codeOf,
  foundAt,
  namesIn,
  PRIVATE_FILE,
  PRIVATE_FOLDER,
  readRegular,
  makeFolders,
} from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import {
  describeProblem,
  fields,
  fits,
  flag,
  nonBlank,
  optional,
  rule,
  shortText,
  show,
  string,
  whole,
  type Rule,
} from '../loop/shape.ts';
import { stateFolder } from '../home/state-folder.ts';
import { visible } from '../text/one-line.ts';
import { ARGUMENTS, type RalphArguments } from './arguments.ts';
import { errorText, SILENT, STEP_LOG, type RalphLog } from './log.ts';

export interface RalphLoopState {
  readonly active: boolean;
  /** Iteration 1 is the person's own prompt. */
  readonly iteration: number;
  readonly maxIterations: number;
  readonly completionPromise: string;
  readonly startedAt: string;
  readonly prompt: string;
  readonly sessionId: string;
  readonly lastIterationAt?: string;
  readonly description?: string;
  /** The id of its loop, and the folder in which it was started. Without an id the loop is still to be created. */
  readonly loop?: string;
  readonly workdir?: string;
  /** The host program, by its short name. */
  readonly program?: string;
  /** The id of the session's earlier loop, which this one replaces; it is to be ended before this one is created. */
  readonly replaces?: string;
  /** How many messages the session had when its last turn was looked at; later ones belong to the next turn. */
  readonly seenMessages?: number;
  /** What the loop is to be created with. */
  readonly asked?: RalphArguments;
}

/** The state of a session; null if there is none, and null with a warning if it cannot be read or is not valid. */
export function readState(
  session: string,
  stateDir?: string,
  log: RalphLog = STEP_LOG,
): RalphLoopState | null {
  try {
    const text = inFolderOf(session, stateDir, false, (folder) => readRegular(join(folder, FILE), MAX_BYTES));
    if (text === null) return null;
    const state: unknown = JSON.parse(text.toString('utf8'));
    if (isStateOf(session, state)) return state;
    const [problem] = stateOf(session)(state, '');
    throw new Error(`${fileOf(session, stateDir)}: ${problem === undefined ? '' : describeProblem(problem)}`);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    log.warn(`[ralph-loop] Failed to read state: ${errorText(error)}`);
    return null;
  }
}

/** What to tell the person if a session has a state that cannot be read; null if it has none, or a valid one. */
export function damagedState(session: string, stateDir?: string): string | null {
  const file = fileOf(session, stateDir);
  if (foundAt(file) === null || readState(session, stateDir, SILENT) !== null) return null;
  return `cannot read the state of this session's loop, ${visible(file)}; cancel-ralph removes it, and ralph stop NAME in a terminal ends the loop`;
}

/** Writes the state of a session and returns true; false with an error in the log if that is not possible. */
export function writeState(
  session: string,
  state: RalphLoopState,
  stateDir?: string,
  log: RalphLog = STEP_LOG,
): boolean {
  try {
    const problem = stateOf(session)(state, '')[0];
    if (problem !== undefined) throw new Error(describeProblem(problem));
    inFolderOf(session, stateDir, true, (folder) =>
      replaceFile(join(folder, FILE), `${JSON.stringify(known(state), null, 2)}\n`, {
        mode: PRIVATE_FILE,
      }),
    );
    return true;
  } catch (error) {
    log.error(`[ralph-loop] Failed to write state: ${errorText(error)}`);
    return false;
  }
}

/** Removes the folder of a session if there is one and returns true; false with an error in the log if it stays. */
export function clearState(session: string, stateDir?: string, log: RalphLog = STEP_LOG): boolean {
  try {
    rmSync(folderOf(session, stateDir), { recursive: true, force: true });
    return true;
  } catch (error) {
    log.error(`[ralph-loop] Failed to clear state: ${errorText(error)}`);
    return false;
  }
}

/** The state after one more iteration; null without a state, or if it cannot be written. */
export function incrementIteration(
  session: string,
  stateDir?: string,
  log: RalphLog = STEP_LOG,
): RalphLoopState | null {
  const state = readState(session, stateDir, log);
  if (state === null) return null;
  const next = { ...state, iteration: state.iteration + 1, lastIterationAt: new Date().toISOString() };
  return writeState(session, next, stateDir, log) ? next : null;
}

/** The states of all sessions, the latest start first. */
export function allStates(stateDir?: string, log: RalphLog = STEP_LOG): readonly RalphLoopState[] {
  return namesIn(sessionsFolder(stateDir))
    .filter(isSessionId)
    .flatMap((session) => readState(session, stateDir, log) ?? [])
    .toSorted((a, b) => Date.parse(b.startedAt) - Date.parse(a.startedAt));
}

export function sessionsFolder(stateDir?: string): string {
  return stateDir ?? join(stateFolder(), 'sessions');
}

/** 1 to 128 letters, digits, `-`, `_` or `.`, which is not the first. */
export function isSessionId(text: unknown): text is string {
  return typeof text === 'string' && SESSION_ID.test(text);
}

const SESSION_ID = /^[\w-][\w.-]{0,127}$/;

const FILE = 'ralph-loop-state.json';

function fileOf(session: string, stateDir: string | undefined): string {
  return join(folderOf(session, stateDir), FILE);
}

function folderOf(session: string, stateDir: string | undefined): string {
  if (!isSessionId(session)) {
    throw new Error(
      `a session id must be 1 to 128 letters, digits, "-", "_" or "." (not first), got ${show(session)}`,
    );
  }
  return join(sessionsFolder(stateDir), session);
}

function inFolderOf<T>(
  session: string,
  stateDir: string | undefined,
  make: boolean,
  use: (folder: string) => T,
): T {
  const folder = folderOf(session, stateDir);
  // Without `below`, which does not know that it has to be private.
  if (make) makeFolders(folder, PRIVATE_FOLDER);
  return below(sessionsFolder(stateDir), [session], { make }, use);
}

/** Tasks are long at times; a larger file is no state. */
const MAX_BYTES = 8 * 2 ** 20;

const isoTime: Rule = rule(
  'an ISO 8601 time',
  (value) => typeof value === 'string' && value.length < 100 && !Number.isNaN(Date.parse(value)),
);

const KNOWN: Readonly<Record<keyof RalphLoopState, Rule>> = {
  active: flag,
  iteration: whole(1),
  maxIterations: whole(1),
  completionPromise: nonBlank,
  startedAt: isoTime,
  prompt: string,
  sessionId: string,
  lastIterationAt: optional(isoTime),
  description: optional(string),
  loop: optional(shortText(1000)),
  workdir: optional(shortText(10_000)),
  program: optional(shortText(100)),
  replaces: optional(shortText(1000)),
  seenMessages: optional(whole(0)),
  asked: optional(fields(ARGUMENTS)),
};

/** The shape of a state, and that it is the session's own. */
function stateOf(session: string): Rule {
  return fields({ ...KNOWN, sessionId: rule(show(session), (value) => value === session) });
}

function known(state: RalphLoopState): object {
  return Object.fromEntries(Object.entries(state).filter(([key]) => Object.hasOwn(KNOWN, key)));
}

function isStateOf(session: string, value: unknown): value is RalphLoopState {
  return fits(stateOf(session), value);
}
