/**
 * Starts a child loop that an agent in a sandbox has asked for. The request is the agent's word, so:
 *
 * 1. The child has the sandbox of its parent, and its checks run in it too. It works in the tree of its parent and nowhere else: a
 *    path that an agent names could become a link after it was looked at.
 * 2. It has the agent of its parent: another one would make the files and keys of that agent readable.
 * 3. Its other terms are those of the trusted settings, and what `ChildStart` allows.
 */
import { resolve } from 'node:path';
import { handOver } from '../daemon/hand-over.ts';
import { effective } from '../config/effective.ts';
import { readSettings } from '../config/read.ts';
import type { LimitsPolicy, Policy, SandboxPolicy } from '../loop/policy.ts';
import { describeProblem, findProblems } from '../loop/validate.ts';
import { createLoop } from '../owner/create-loop.ts';
import { checkSpendLimits } from '../owner/money.ts';
import type { SandboxedParent } from '../owner/owner.ts';
import { findFolder } from '../store/read-loop.ts';
import type { ChildStart } from './child-start.ts';
import { runMarker } from '../store/run-environment.ts';
import { treeOf, type Spec } from '../store/spec.ts';
import { NeedsTrust, trustOf } from '../store/trust-of.ts';
import { UserError } from '../user-error.ts';
import { refOf } from './find.ts';
import type { LoopRef } from './loops.ts';
import { Rights } from './rights.ts';

export async function startForSandbox(
  { task, name, tags, settings, argv }: ChildStart,
  { spec, folder, env, state }: SandboxedParent,
): Promise<LoopRef> {
  const { policy: upper, turn } = state();
  if (upper.sandbox === null) throw new UserError('this loop has no sandbox');
  const { agent, ...flags } = settings;
  refuseOtherAgent(agent?.name, argv, spec);
  const workspace = treeOf(spec);
  const earlier = name === null ? null : findFolder(workspace, name);
  if (earlier !== null)
    await new Rights(() => ({ is: 'sandbox', own: spec })).require('replace', earlier, 'start');
  const files = await readSettings(workspace);
  const trust = trustOf(files, workspace, false, { folder: folder.path });
  if (!trust.isTrusted) throw new NeedsTrust(trust);
  const { policy } = effective(files, { ...flags, worktree: false, interactive: false }, workspace);
  const confined = withinSandbox(policy, upper, upper.sandbox, workspace);
  await checkSpendLimits(confined.limits, spec.agent);
  const loop = await createLoop({
    workspace,
    name,
    policy: confined,
    agent: spec.agent,
    prompt: { text: task },
    env,
    place: 'background',
    tags,
    fresh: false,
    parent: { run: runMarker(spec, turn.run?.id ?? `${turn.iteration}.1`).value, folder: folder.path },
  });
  await handOver(loop);
  return refOf(loop);
}

/** A command may name the agent that it gets anyway. */
function refuseOtherAgent(kind: string | undefined, argv: readonly string[], { agent }: Spec): void {
  const isSame =
    (kind === undefined || kind === agent.kind) &&
    (argv.length === 0 || JSON.stringify(argv) === JSON.stringify(agent.argv));
  if (isSame) return;
  throw new UserError(
    `inside a sandbox a child loop has the agent of its parent (${agent.kind}); leave out --agent and the command after --`,
  );
}

/** The policy with no more rights than the parent's. */
function withinSandbox(policy: Policy, upper: Policy, sandbox: SandboxPolicy, tree: string): Policy {
  const confined: Policy = {
    ...policy,
    limits: withinLimits(policy.limits, upper.limits),
    keys: upper.keys === 'own' ? 'own' : policy.keys,
    calls: upper.calls,
    sandbox: {
      ...sandbox,
      checks: true,
      write: sandbox.write.map((path) => absolute(path, tree)),
      hide: sandbox.hide.map((path) => absolute(path, tree)),
    },
  };
  const problems = findProblems(confined);
  if (problems.length > 0) throw new UserError(problems.map(describeProblem).join('; '));
  return confined;
}

/** Limits that an agent asks for are not above those of its loop, which hold for the child anyway. */
function withinLimits(limits: LimitsPolicy, upper: LimitsPolicy): LimitsPolicy {
  return {
    ...limits,
    costUsd: least(limits.costUsd, upper.costUsd),
    tokens: least(limits.tokens, upper.tokens),
    timeMs: least(limits.timeMs, upper.timeMs),
  };
}

function least(own: number | null, most: number | null): number | null {
  return own === null || most === null ? own : Math.min(own, most);
}

/** A relative path starts at the tree of the loop that it was given for. */
function absolute(path: string, tree: string): string {
  return path === '~' || path.startsWith('~/') ? path : resolve(tree, path);
}
