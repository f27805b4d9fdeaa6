/**
 * What confines a child loop that an agent in a sandbox asks for. The request is the agent's word, so:
 *
 * 1. The child has the sandbox of its parent, and its checks run in it too. It works in the tree of its parent and nowhere else: a
 *    path that an agent names could become a link after it was looked at.
 * 2. It has the agent of its parent: another one would make the files and keys of that agent readable.
 * 3. Its other terms are those of the trusted settings, and the few settings that `startOf` takes over.
 */
import { resolve } from 'node:path';
import type { LimitsPolicy, Policy } from '../loop/policy.ts';
import { describeProblem, findProblems } from '../loop/validate.ts';
import { runMarker } from '../home/run-environment.ts';
import { treeOf, type ParentRun, type PromptSource, type Spec } from '../home/spec.ts';
import { UserError } from '../user-error.ts';
import type { StartRequest } from './make-request.ts';
import type { SandboxedParent } from './owner.ts';

/** The run of the parent that asks. */
export function askingRun({ spec, folder, state }: SandboxedParent): ParentRun {
  const { turn } = state();
  const run = turn.run?.id ?? `${turn.iteration}.1`;
  return { run: runMarker(spec, run).value, folder: folder.path };
}

/** The request as far as the parent allows it. */
export function confined(asked: StartRequest, { spec }: SandboxedParent): StartRequest {
  const { id, name, prompt, tags, command = [], settings } = asked;
  const { preset, maxIterations, maxTime, maxCost, maxTokens, checks, until } = settings;
  const terms = { preset, maxIterations, maxTime, maxCost, maxTokens, checks, until };
  refuseOtherAgent(settings.agent?.name, command, spec);
  return {
    // An agent cannot send the request of a person before that person does.
    id: id === undefined ? id : `${spec.id} ${id}`,
    workspace: treeOf(spec),
    name,
    prompt: textOf(prompt),
    tags,
    agent: spec.agent,
    settings: { ...terms, worktree: false, interactive: false },
  };
}

/** A file that an agent in a sandbox names may be another one outside, or one that the sandbox hides. */
function textOf(prompt: StartRequest['prompt']): PromptSource {
  if (prompt !== undefined && 'text' in prompt) return { text: prompt.text };
  throw new UserError('inside a sandbox the task of a child loop must be a text');
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
export function withinSandbox(policy: Policy, { spec, state }: SandboxedParent): Policy {
  const { policy: upper } = state();
  const { sandbox } = upper;
  const tree = treeOf(spec);
  if (sandbox === null) throw new UserError('this loop has no sandbox');
  const child: Policy = {
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
  const problems = findProblems(child);
  if (problems.length > 0) throw new UserError(problems.map(describeProblem).join('; '));
  return child;
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
