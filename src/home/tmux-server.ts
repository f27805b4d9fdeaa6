import { TmuxServer } from '../tmux/server.ts';
import type { Spec } from './spec.ts';
import { tmuxPlaceOf } from './tmux-place.ts';

/** The tmux server of a loop's window. */
export function tmuxServerOf(spec: Pick<Spec, 'window'>): TmuxServer {
  return new TmuxServer(tmuxPlaceOf(spec));
}
