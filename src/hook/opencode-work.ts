import { record, text, type Json } from '../agents/json.ts';
import type { ContinuingHook } from './hook.ts';

/**
 * Which sessions of opencode have worked since they were idle. An abort of a session that is idle already, because its checks
 * run or its next prompt waits, is no error in opencode (1.18): the session is reported as idle once more.
 */
export class Work {
  /** Only sessions whose work was seen: other versions may not report it. */
  readonly #hasWorked = new Map<string, boolean>();

  /** Takes an event; whether it means that a person has aborted an idle session. */
  isAborted(event: string, properties: Json, hook: ContinuingHook): boolean {
    const session = text(properties['sessionID']);
    if (event === 'session.status' && record(properties['status'])['type'] !== 'idle')
      this.#hasWorked.set(session, true);
    if (event === 'session.deleted') this.#hasWorked.delete(session);
    if (event !== 'session.idle') return false;
    const hasWorked = this.#hasWorked.get(session);
    if (hasWorked === true) this.#hasWorked.set(session, false);
    return hasWorked === false && hook.isContinuing(session);
  }
}
