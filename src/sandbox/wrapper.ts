/** How a program is put into a view, with the sandbox that works on this machine. */
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { openRegular, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import type { Policy, SandboxPolicy } from '../loop/policy.ts';
import type { Wrapper } from '../process/sandboxed.ts';
import { stateFolder } from '../home/state-folder.ts';
import { UserError } from '../user-error.ts';
import { bubblewrapCommand } from './bubblewrap.ts';
import { mountsOf } from './mounts.ts';
import { probeSandbox, type Probe } from './probe.ts';
import { placesOf, type View } from './sandbox.ts';
import { seatbeltCommand } from './seatbelt.ts';
import { isFolder } from './view.ts';
import type { Environment } from '../process/process.ts';

export function wrapperOf(
  probe: WorkingProbe,
  view: View,
  {
    policy,
    cwd,
    graceMs,
  }: { readonly policy: SandboxPolicy; readonly cwd: string; readonly graceMs: number },
): Wrapper {
  const { network } = policy;
  const places = placesOf(view);
  if (probe.kind === 'seatbelt') return { kind: 'prefix', command: seatbeltCommand(places, network) };
  const isRoot = process.getuid?.() === 0;
  const emptyFile = emptyFileIn(stateFolder());
  const command = bubblewrapCommand({ ...probe, isRoot, places, isFolder, emptyFile, network, cwd });
  return { kind: 'namespace', command, graceMs, mounts: mountsOf(places, { isFolder, emptyFile }) };
}

/** Refuses a loop whose sandbox does not work on this machine. */
export async function refuseWithoutSandbox(
  policy: Pick<Policy, 'sandbox'>,
  env: Environment,
  workspace: string,
): Promise<void> {
  if (policy.sandbox !== null) await workingProbe(env, workspace);
}

export async function workingProbe(env: Environment, workspace: string): Promise<WorkingProbe> {
  const probe = await probeSandbox(env, workspace);
  if (probe.works) return probe;
  throw new UserError(`cannot start the sandbox: ${probe.why}; ${probe.remedy}`);
}

export type WorkingProbe = Extract<Probe, { works: true }>;

/** Stands in the place of hidden files. */
function emptyFileIn(state: string): string {
  const path = join(state, 'empty');
  makeFolders(state, PRIVATE_FOLDER);
  closeSync(openRegular(path, 'append'));
  return path;
}
