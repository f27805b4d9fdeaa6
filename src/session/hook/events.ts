/** What the data of an event says. It comes from the host program and is not believed to have a shape. */
import { readTrouble } from '../../agents/trouble.ts';
import { isRecord } from '../../loop/shape.ts';
import type { TurnError } from '../turn.ts';

/** Whether a person has aborted the session's turn. */
export function isAbort(data: unknown): boolean {
  const name = errorIn(data)['name'];
  return name === 'MessageAbortedError' || name === 'AbortError';
}

/** The usage limit of the provider that an error reports, by its field `limit` or by its text; null for any other error. */
export function usageLimitIn(data: unknown, now: number): TurnError | null {
  const error = errorIn(data);
  const details = isRecord(error['data']) ? error['data'] : error;
  const message = details['message'] ?? error['message'];
  const text = typeof message === 'string' ? message : '';
  const { limit } = error;
  if (isRecord(limit)) {
    const resetsAt = typeof limit['resetsAt'] === 'number' ? limit['resetsAt'] : null;
    return { message: text === '' ? 'usage limit' : text, limit: { resetsAt } };
  }
  const status = typeof details['statusCode'] === 'number' ? details['statusCode'] : null;
  const found = text === '' ? null : readTrouble({ message: text, status }, now).limit;
  return found === null ? null : { message: found.message, limit: { resetsAt: found.resetsAt } };
}

/** The session that was deleted, if the data names it. */
export function sessionIn(data: unknown): unknown {
  return isRecord(data) ? data['sessionId'] : undefined;
}

function errorIn(data: unknown): Readonly<Record<string, unknown>> {
  const error = isRecord(data) ? data['error'] : undefined;
  // Not all fields of an error are its own.
  if (error instanceof Error)
    return { ...Object.fromEntries(Object.entries(error)), name: error.name, message: error.message };
  return isRecord(error) ? error : {};
}
