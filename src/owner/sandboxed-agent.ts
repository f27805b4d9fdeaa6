/** Puts a loop's agent into its sandbox, and guards what the sandbox cannot. */
import { NotStarted, type Host, type HostedRun } from '../hosts/host.ts';
import type { ProcessSpec } from '../hosts/process.ts';
import type { Policy } from '../loop/policy.ts';
import type { LoopState } from '../loop/state.ts';
import { findCommand } from '../process/command.ts';
import { clearGuardedByOthers, noteGuarded } from '../sandbox/guard.ts';
import { inSandbox, loopSandbox } from '../workspace/loop-sandbox.ts';
import type { StartedLoop } from '../home/run-environment.ts';
import { treeOf } from '../home/spec.ts';
import { UserError } from '../user-error.ts';

/** A run in the loop's sandbox; unchanged if it has none. */
export function sandboxed(
  loop: StartedLoop,
  spec: ProcessSpec,
  { policy }: LoopState,
  say: (line: string) => void,
): ProcessSpec {
  const { sandbox, timeouts } = policy;
  if (sandbox === null) return spec;
  return {
    ...spec,
    env: inSandbox(loop.folder.workspaceFolder, spec.env),
    async sandbox(program) {
      const made = await explained(() => loopSandbox(loop, sandbox, { graceMs: timeouts.killGraceMs }));
      if (!made.sees(program))
        throw new NotStarted({ kind: 'command-not-found', message: isHidden(program) });
      await clearGuardedByOthers({ folder: treeOf(loop.spec), env: loop.env }, loop.folder, say);
      noteGuarded(loop.folder.path, made);
      return made.wrapper;
    },
  };
}

/** Refuses a new loop whose sandbox would hide its agent. A program that is missing is reported where it is started. */
export async function refuseHiddenAgent(loop: StartedLoop, { sandbox, timeouts }: Policy): Promise<void> {
  if (sandbox === null) return;
  const { spec, env } = loop;
  const command = findCommand(spec.agent.argv[0] ?? '', env['PATH'] ?? '', treeOf(spec));
  if (command.found !== 'executable') return;
  const { sees } = await loopSandbox(loop, sandbox, { graceMs: timeouts.killGraceMs });
  if (!sees(command.path)) throw new UserError(isHidden(command.path));
}

function isHidden(program: string): string {
  return `the sandbox hides the agent command ${program}; install it elsewhere, or add its folder to sandbox.write`;
}

/** A host that moves new settings aside when a run is over, before anything else looks at the workspace. */
export function guardedHost(host: Host, look: () => void): Host {
  const guarded = (run: HostedRun): HostedRun => ({
    receipt: run.receipt,
    ended: run.ended,
    isOfEarlierBoot: run.isOfEarlierBoot,
    follow: (take) => run.follow(take),
    stop: (...how) => run.stop(...how),
    detach: () => run.detach(),
    close(rest) {
      look();
      return run.close(rest);
    },
  });
  return {
    outlivesOwner: host.outlivesOwner,
    async find(request) {
      const found = await host.find(request);
      return found === null ? null : guarded(found);
    },
    async start(request) {
      return guarded(await host.start(request));
    },
  };
}

/** A sandbox that works no longer fails the run, not the owner. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UserError)
      throw new NotStarted({ kind: 'invalid-configuration', message: error.message });
    throw error;
  }
}
