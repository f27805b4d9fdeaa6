import { placeIn, type ServerPlace } from '../tmux/place.ts';
import type { Spec } from './spec.ts';
import { stateFolder } from './state-folder.ts';

/** Where the window of a loop is. Lists use it, so it does not load what talks to tmux. */
export function tmuxPlaceOf({ window = {} }: Pick<Spec, 'window'>): ServerPlace {
  return placeIn(stateFolder(), window);
}
