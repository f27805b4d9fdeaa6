import { hash } from 'node:crypto';
import { userInfo } from 'node:os';
import { join } from 'node:path';

/** Where the windows of a loop are. */
export interface ServerPlace {
  /** The name of its socket (`tmux -L`). */
  readonly socket: string;
  readonly session: string;
  /** The state folder, for the configuration of the server. */
  readonly state: string;
}

/** The place for loops of a state folder: `ralph`, and another socket for every folder that is not the default one. */
export function placeIn(
  state: string,
  given: { readonly socket?: string; readonly session?: string } = {},
): ServerPlace {
  return { socket: given.socket ?? socketFor(state), session: given.session ?? SESSION, state };
}

const SESSION = 'ralph';

function socketFor(state: string): string {
  if (state === defaultState()) return SESSION;
  return `${SESSION}-${hash('sha256', state).slice(0, 8)}`;
}

/** From the user database: a HOME of a test or a container must not lead to the user's own server. */
function defaultState(): string | null {
  try {
    return join(userInfo().homedir, '.local', 'state', 'ralph');
  } catch {
    return null;
  }
}
