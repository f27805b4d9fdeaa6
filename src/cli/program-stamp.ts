import { stampOfProgram } from '../store/remembered.ts';

/** Which build of the command this is; null for its sources. */
export function programStamp(): string | null {
  return stampOfProgram(import.meta.dirname);
}
