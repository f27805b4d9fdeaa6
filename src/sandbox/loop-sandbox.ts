/** The sandbox of a loop: for its agent, and where the policy says so for its checks and its set-up. */
import { closeSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { agentNamed } from '../agents/agents.ts';
import { PROJECT_BUS } from '../bus/bus-file.ts';
import { below } from '../files/below.ts';
import { openRegular, PRIVATE_FOLDER } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import type { Policy, SandboxPolicy } from '../loop/policy.ts';
import type { Wrapper } from '../process/sandboxed.ts';
import { onDesk } from '../store/desk.ts';
import type { Desk } from '../store/store.ts';
import type { StartedLoop } from '../store/run-environment.ts';
import { treeOf } from '../store/spec.ts';
import { stateFolder } from '../store/state-folder.ts';
import { UserError } from '../user-error.ts';
import { bubblewrapCommand } from './bubblewrap.ts';
import { sandboxEnvironment } from './environment.ts';
import type { Guarded } from './guard.ts';
import { mountsOf } from './mounts.ts';
import { probeSandbox, type Environment, type Probe } from './probe.ts';
import { placesOf, sees, type View } from './sandbox.ts';
import { noteSandbox } from './sandboxed-trees.ts';
import { seatbeltCommand } from './seatbelt.ts';
import { isFolder, viewOf } from './view.ts';

export interface LoopSandbox extends Guarded {
  readonly wrapper: Wrapper;
  /** Whether a program can be started in it. */
  readonly sees: (program: string) => boolean;
}

/** The sandbox as the machine is now: it is made anew for every run. */
export async function loopSandbox(
  { spec, folder, env }: StartedLoop,
  policy: SandboxPolicy,
  { cwd = treeOf(spec), graceMs }: { readonly cwd?: string; readonly graceMs: number },
): Promise<LoopSandbox> {
  const probe = await workingProbe(env, spec.workspace);
  const tree = realpathSync(cwd);
  // The folder for requests is a place of its own, so that the agent cannot replace it by a link.
  const own = [folder.desk.path, makeRequestFolder(folder.desk)];
  makeProjectBus(spec.workspace);
  const { view, ...guarded } = await viewOf({
    tree,
    workspace: spec.workspace,
    places: own,
    state: stateFolder(),
    env,
    call: agentNamed(spec.agent.kind).call,
    policy,
  });
  // Before the agent can write anything.
  const trees = [tree, spec.workspace, ...guarded.gitFolders, ...view.given.write];
  noteSandbox({ id: spec.id, policy: { ...policy, ...view.given }, trees });
  const places = placesOf(view);
  const canSee = (program: string): boolean => sees(places, program) && sees(places, realpathSync(program));
  const wrapper = wrapperOf(probe, view, { policy, cwd: tree, graceMs });
  return { wrapper, ...guarded, sees: canSee };
}

/** How a program is put into a view. */
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

/** The environment and the sandbox of a check or a set-up command, which runs without one unless the policy says so. */
export async function inCheckSandbox(
  loop: StartedLoop,
  { sandbox, timeouts }: Policy,
  env: Record<string, string>,
  cwd: string = treeOf(loop.spec),
): Promise<{ readonly env: Record<string, string>; readonly sandbox: Wrapper | null }> {
  if (sandbox?.checks !== true) return { env, sandbox: null };
  const { wrapper } = await loopSandbox(loop, sandbox, { cwd, graceMs: timeouts.killGraceMs });
  return { env: inSandbox(loop.folder.desk, env), sandbox: wrapper };
}

/** An environment as it is in the loop's sandbox. */
export function inSandbox({ path }: Desk, env: Environment): Record<string, string> {
  return sandboxEnvironment(env, join(path, REQUESTS));
}

/** Makes the folder on the desk where `ralph` in the sandbox asks the owner of its loop. */
export function makeRequestFolder(desk: Desk): string {
  const folder = join(desk.path, REQUESTS);
  onDesk(desk, folder, () => {});
  return folder;
}

const REQUESTS = 'requests';

/** A sandbox can open a file for writing only if it is there. */
function makeProjectBus(workspace: string): void {
  try {
    below(workspace, ['.ralph'], { make: true }, (folder) =>
      closeSync(openRegular(join(folder, PROJECT_BUS), 'append', 0o666)),
    );
  } catch {
    // The agent has no bus of the workspace then, and `ralph bus` says why.
  }
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
