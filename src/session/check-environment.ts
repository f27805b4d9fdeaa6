import { startersEnvironment } from '../store/run-environment.ts';

/** The environment of a loop's checks: that of the session, without the variables that a host program sets for its hooks. */
export function checkEnvironment(env: NodeJS.ProcessEnv, ofHooks: RegExp): Record<string, string> {
  return Object.fromEntries(Object.entries(startersEnvironment(env)).filter(([name]) => !ofHooks.test(name)));
}
