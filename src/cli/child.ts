import { followLoop } from '../compose/follow-loop.ts';
import { createLoop, type LoopRequest } from '../compose/open-loop.ts';
import { startOwner } from '../compose/start-owner.ts';
import { Console } from './console.ts';
import { finish } from './drive.ts';
import type { ViewOptions } from './options.ts';

/**
 * `ralph run` inside an agent: the loop gets an owner of its own, which outlives the run that we are in, and we only
 * show what it does.
 */
export async function runAsChild(
  request: LoopRequest,
  parent: { readonly run: string; readonly folder: string },
  options: ViewOptions,
): Promise<number> {
  const loop = await createLoop({ ...request, parent });
  const { folder, spec } = loop;
  loop.close();
  await startOwner(folder, request.env, parent.run);
  const view = new Console(spec.name, options);
  return finish(view, await followLoop(folder, view), options);
}
