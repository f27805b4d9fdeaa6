/** The sandbox of a loop: for its agent, and where the policy says so for its checks and its set-up. */
import { closeSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { agentNamed } from '../agents/agents.ts';
import { PROJECT_BUS } from '../bus/bus-file.ts';
import { below } from '../files/below.ts';
import { openRegular } from '../files/files.ts';
import type { Policy, SandboxPolicy } from '../loop/policy.ts';
import type { Wrapper } from '../process/sandboxed.ts';
import { inWorkspaceFolder } from './workspace-folder.ts';
import type { WorkspaceFolder } from '../home/home.ts';
import type { StartedLoop } from '../home/run-environment.ts';
import { treeOf } from '../home/spec.ts';
import { stateFolder } from '../home/state-folder.ts';
import { sandboxEnvironment } from '../sandbox/environment.ts';
import type { Guarded } from '../sandbox/guard.ts';
import type { Environment } from '../process/process.ts';
import { placesOf, sees } from '../sandbox/sandbox.ts';
import { noteSandbox } from '../sandbox/git-view.ts';
import { viewOf } from '../sandbox/view.ts';
import { workingProbe, wrapperOf } from '../sandbox/wrapper.ts';

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
  const own = [folder.workspaceFolder.path, makeRequestFolder(folder.workspaceFolder)];
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

/** The environment and the sandbox of a check or a set-up command, which runs without one unless the policy says so. */
export async function inCheckSandbox(
  loop: StartedLoop,
  { sandbox, timeouts }: Policy,
  env: Record<string, string>,
  cwd: string = treeOf(loop.spec),
): Promise<{ readonly env: Record<string, string>; readonly sandbox: Wrapper | null }> {
  if (sandbox?.checks !== true) return { env, sandbox: null };
  const { wrapper } = await loopSandbox(loop, sandbox, { cwd, graceMs: timeouts.killGraceMs });
  return { env: inSandbox(loop.folder.workspaceFolder, env), sandbox: wrapper };
}

/** An environment as it is in the loop's sandbox. */
export function inSandbox({ path }: WorkspaceFolder, env: Environment): Record<string, string> {
  return sandboxEnvironment(env, join(path, REQUESTS));
}

/** Makes the folder in the workspace folder where `ralph` in the sandbox asks the owner of its loop. */
export function makeRequestFolder(workspaceFolder: WorkspaceFolder): string {
  const folder = join(workspaceFolder.path, REQUESTS);
  inWorkspaceFolder(workspaceFolder, folder, () => {});
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
