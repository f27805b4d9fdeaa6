import { handOver } from '../daemon/hand-over.ts';
import { createLoop } from '../owner/create-loop.ts';
import { makeRequest } from '../owner/make-request.ts';
import type { SandboxedParent } from '../owner/owner.ts';
import { findFolder } from '../store/read-loop.ts';
import { treeOf } from '../store/spec.ts';
import type { ChildStart } from './child-start.ts';
import { refOf } from './find.ts';
import type { LoopRef } from './loops.ts';
import type { Rights } from './rights.ts';

/** Starts a child loop that an agent in a sandbox has asked for. */
export async function startForSandbox(
  { task, name, tags, settings, argv }: ChildStart,
  parent: SandboxedParent,
  rights: Rights,
): Promise<LoopRef> {
  const workspace = treeOf(parent.spec);
  const earlier = name === null ? null : findFolder(workspace, name);
  if (earlier !== null) await rights.require('replace', earlier, 'start');
  const { request } = await makeRequest(
    { workspace, name: name ?? undefined, prompt: { text: task }, command: argv, settings, tags },
    { confinedTo: parent },
  );
  const loop = await createLoop({ ...request, place: 'background' });
  await handOver(loop);
  return refOf(loop);
}
