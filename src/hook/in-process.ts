import { startersEnvironment } from '../store/run-environment.ts';
import type { SessionDriver } from './driver.ts';

/** Takes the steps of a loop in this process. The engine is loaded with the first step. */
export function inProcessDriver(program: string, stateDir: string | undefined): SessionDriver {
  return {
    async start(request) {
      const { startSession } = await import('../session/session.ts');
      return startSession({ ...request, program, env: startersEnvironment(process.env), stateDir });
    },
    async endTurn(session, turn) {
      const { endTurn } = await import('../session/session.ts');
      return endTurn(session, turn, stateDir);
    },
    async cancel(session, loop) {
      const { cancelSession } = await import('../session/session.ts');
      return cancelSession(session, stateDir, loop);
    },
  };
}
