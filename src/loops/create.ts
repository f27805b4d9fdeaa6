/** Creates a loop from what a front asks for: the only maker of loops above `owner/`. */
import { realpathSync } from 'node:fs';
import { createLoop, type LoopRequest } from '../owner/create-loop.ts';
import type { CreatedLoop } from '../owner/created-loop.ts';
import { makeRequest, type MadeRequest, type StartHelp, type StartRequest } from '../owner/make-request.ts';
import { findFolder } from '../home/read-loop.ts';
import { treeOf } from '../home/spec.ts';
import type { Rights } from './rights.ts';

export interface CreateHelp extends StartHelp {
  /** Gets a line about what takes long before the loop begins. */
  readonly say?: ((line: string) => void) | undefined;
  /** What the request of a loop in this process has besides, or instead of what was made from the settings. */
  readonly more?: (made: MadeRequest) => Partial<LoopRequest> | Promise<Partial<LoopRequest>>;
}

/** Creates a loop. Throws `NeedsTrust` for settings that the user does not trust, and `AlreadyStarted` for a request that was sent before. */
export async function create(
  asked: StartRequest,
  rights: Rights,
  { say, more, ...help }: CreateHelp,
): Promise<CreatedLoop> {
  const { name } = asked;
  const workspace =
    help.confinedTo === undefined ? realpathSync(asked.workspace) : treeOf(help.confinedTo.spec);
  const earlier = name === undefined ? null : findFolder(workspace, name);
  if (earlier !== null) await rights.require('replace', earlier, 'start');
  const made = await makeRequest(asked, help);
  return createLoop({ ...made.request, ...(say === undefined ? {} : { say }), ...(await more?.(made)) });
}
