import { limitsFrom } from '../settings/set-limits.ts';
import { loopAndWords } from './chosen-loop.ts';
import { hall } from './hall.ts';
import { tellSent } from './control.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph set`: changes the limits of a loop. */
export async function set(given: readonly string[], options: { readonly cwd?: string }): Promise<number> {
  const loops = hall();
  const { loop, words: settings } = await loopAndWords(loops, given, workspaceOf(options), 'set');
  const sent = await loops.send(loop, { type: 'set', limits: limitsFrom(settings) });
  return tellSent(loop, sent, `set for ${loop.name}: ${settings.join(' ')}`);
}
