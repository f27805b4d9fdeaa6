import { placeIn, TmuxServer } from '../tmux/server.ts';
import type { Spec } from './spec.ts';
import { stateFolder } from './state-folder.ts';

/** The tmux server of a loop's window. */
export function tmuxServerOf({ window = {} }: Pick<Spec, 'window'>): TmuxServer {
  return new TmuxServer(placeIn(stateFolder(), window));
}
