import type { Answer } from '../session/answer.ts';
import type { RalphLoopState } from '../session/session-file.ts';
import type { SessionRequest, StartedSession } from '../session/session.ts';
import type { FinishedTurn } from '../session/turn.ts';

/**
 * The steps of a loop inside a session. All decisions are made there: done, limits, checks and the next prompt. The host
 * program of a hook takes them in its own process (`in-process.ts`) or in a child process.
 */
export interface SessionDriver {
  /** Creates the loop of a session and writes its state; rejects with one clear message if that is not possible. */
  start(request: StartRequest): Promise<StartedSession>;
  /** The session has gone idle after this turn. `checking` is called once if checks run, with their commands. */
  endTurn(
    session: string,
    turn: FinishedTurn,
    checking?: (checks: readonly string[]) => void,
  ): Promise<Answer>;
  /** What has ended the loop of a session since its last step, or `none`: asked before the session gets a prompt. */
  look(session: string): Answer | Promise<Answer>;
  /**
   * Ends the loop `loop` of a session. The state of the session may be gone already, or be that of a later loop: it is cleared
   * only if it names `loop`. Null: there is no such loop, or it has ended.
   */
  cancel(session: string, loop: string): Promise<RalphLoopState | null>;
}

/** What a session asks for; the driver adds what it knows of its host program. */
export type StartRequest = Pick<SessionRequest, 'session' | 'workspace' | 'asked' | 'description'>;
