import type { Answer } from '../answer.ts';
import type { RalphLoopState } from '../session-file.ts';
import type * as Steps from '../session.ts';
import type { SessionRequest, StartedSession } from '../session.ts';
import { startersEnvironment } from '../../home/run-environment.ts';
import type { FinishedTurn } from '../turn.ts';

/**
 * The steps of a loop inside a session. All decisions are made there: done, limits, checks and the next prompt. The host
 * program of a hook takes them in its own process or in a child process (`step-driver.ts`).
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

/** Takes the steps of a loop in this process. The engine is loaded with the first step. */
export function inProcessDriver(program: string, stateDir: string | undefined): SessionDriver {
  let steps: typeof Steps | null = null;
  const load = async (): Promise<typeof Steps> => (steps ??= await import('../session.ts'));
  return {
    async start(request) {
      const { startSession } = await load();
      return startSession({ ...request, program, env: startersEnvironment(process.env), stateDir });
    },
    async endTurn(session, turn, checking) {
      const { endTurn } = await load();
      return endTurn(session, turn, stateDir, { checking });
    },
    // At once after a step: the prompt is given when its delay is over, not later.
    look: (session) =>
      steps?.endedMeanwhile(session, stateDir) ??
      load().then(({ endedMeanwhile }) => endedMeanwhile(session, stateDir)),
    async cancel(session, loop) {
      const { cancelSession } = await load();
      return cancelSession(session, stateDir, loop);
    },
  };
}
