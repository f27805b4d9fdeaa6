/** The state of a session, for programs: what cannot be read or written goes to the console, if they give no log. */
import * as file from '../session/session-file.ts';
import { CONSOLE_LOG } from './constants.ts';
import type { RalphLog, RalphLoopState } from './types.ts';

export function readState(
  session: string,
  stateDir?: string,
  log: RalphLog = CONSOLE_LOG,
): RalphLoopState | null {
  return file.readState(session, stateDir, log);
}

export function writeState(
  session: string,
  state: RalphLoopState,
  stateDir?: string,
  log: RalphLog = CONSOLE_LOG,
): boolean {
  return file.writeState(session, state, stateDir, log);
}

export function clearState(session: string, stateDir?: string, log: RalphLog = CONSOLE_LOG): boolean {
  return file.clearState(session, stateDir, log);
}

export function incrementIteration(
  session: string,
  stateDir?: string,
  log: RalphLog = CONSOLE_LOG,
): RalphLoopState | null {
  return file.incrementIteration(session, stateDir, log);
}
