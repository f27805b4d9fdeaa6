import type * as Steps from '../session/session.ts';
import { logStepsTo } from '../session/log.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { CONSOLE_LOG } from './constants.ts';
import type { SessionDriver } from './driver.ts';

/** Takes the steps of a loop in this process. The engine is loaded with the first step. */
export function inProcessDriver(program: string, stateDir: string | undefined): SessionDriver {
  let steps: typeof Steps | null = null;
  logStepsTo(CONSOLE_LOG);
  const load = async (): Promise<typeof Steps> => (steps ??= await import('../session/session.ts'));
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
