/** What a front asks about its own process. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startersEnvironment } from '../home/run-environment.ts';
import { stateFolder } from '../home/state-folder.ts';
import { hideSecrets } from '../loop/secrets.ts';

/** What hides secrets in what a front reads or makes itself. What the verbs of the hall return has none. */
export { maskHere } from '../home/mask.ts';
export { firstOf } from '../process/first-of.ts';

/**
 * The folder for requests if this is a sandbox: where the variable is set and Ralph's state is hidden. Outside of it the
 * state has the file that stands in the place of hidden ones.
 */
export function sandboxRequests(): string | null {
  const folder = process.env['RALPH_SANDBOX'];
  if (folder === undefined || folder === '') return null;
  return existsSync(join(stateFolder(), 'empty')) ? null : folder;
}

/** A text without the secrets in the environment of this process. */
export function withoutOwnSecrets(text: string): string {
  return hideSecrets(text, startersEnvironment(process.env));
}
