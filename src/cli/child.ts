import { followLoop } from '../views/follow-loop.ts';
import { createLoop, type LoopRequest } from '../owner/create-loop.ts';
import type { EndedLoop } from '../views/loop-result.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { maskOf } from '../store/mask.ts';
import { startOwner } from '../owner/start-owner.ts';
import { Console } from './console.ts';
import { finish } from './drive.ts';
import type { ViewOptions } from './options.ts';

/** `ralph run` inside an agent: starts a separate owner, which outlives the run of that agent, and shows the loop. */
export async function runAsChild(
  request: LoopRequest,
  parent: { readonly run: string; readonly folder: string },
  options: ViewOptions,
  ended?: (loop: EndedLoop) => void,
): Promise<number> {
  return leaveToOwner(
    await createLoop({ ...request, parent, place: 'background' }),
    parent.run,
    options,
    ended,
  );
}

/** Hands a loop over to an owner that the clean-up after the parent's run does not stop, and shows the loop. */
export async function leaveToOwner(
  loop: OwnedLoop,
  parentRun: string,
  options: ViewOptions,
  ended?: (loop: EndedLoop) => void,
): Promise<number> {
  const { folder, spec } = loop;
  loop.close();
  const env = startersEnvironment(process.env);
  await startOwner(folder, env, parentRun);
  // While the environment is kept: it is deleted when the loop ends.
  const mask = maskOf(spec);
  const view = new Console(spec, options, mask);
  const end = await followLoop(folder, view);
  const code = await finish(view, end, spec, options);
  ended?.({ folder, spec, mask, end: () => end });
  return code;
}
