/** What a loop would start with, for `--dry-run`: the request is refused as for a real start, and nothing is created. */
import { agentNamed } from '../agents/agents.ts';
import { Mask } from '../home/mask.ts';
import { LoopFolder } from '../home/home.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { evolve } from '../loop/evolve.ts';
import { INITIAL } from '../loop/initial.ts';
import type { LimitsPolicy } from '../loop/policy.ts';
import { planPrompt } from '../loop/prompt-plan.ts';
import type { LoopState } from '../loop/state.ts';
import { placeFor } from '../workspace/worktree-place.ts';
import { shownCommand } from './agent-host.ts';
import { keyFor } from './claim-name.ts';
import { checkRequest, specOf, type LoopRequest, type PlacedRequest } from './create-loop.ts';
import { firstProbe } from './loop-plan.ts';
import { readBase } from './prompt-source.ts';
import { promptText } from './write-prompt.ts';

/** A loop that was not started, without secrets. */
export interface DryRun {
  readonly name: string;
  readonly workspace: string;
  /** Null for a loop that works in the workspace. */
  readonly worktree: { readonly path: string; readonly branch: string } | null;
  readonly sandbox: boolean;
  readonly agent: string;
  readonly model: string | null;
  /** The command line of the first run. */
  readonly command: string;
  /** The prompt of the first run. */
  readonly prompt: string;
  readonly checks: readonly string[];
  readonly plan: string | null;
  readonly limits: LimitsPolicy;
  /** The agent reports neither cost nor tokens, so no limit on them can be enforced. */
  readonly isBlind: boolean;
  /** Maximum time per run. */
  readonly runMs: number | null;
  /** What the user should know before the loop begins. */
  readonly notes: readonly string[];
}

export async function dryRun(asked: LoopRequest): Promise<DryRun> {
  const { request, notes } = await checkRequest(asked);
  const { workspace, env, policy, agent } = request;
  const key = keyFor(request);
  const spec = specOf(request, { id: key.id, name: key.name, worktree: null });
  const loop = { spec, folder: new LoopFolder(key), env };
  const state = await firstState(loop, request);
  const effect = { plan: planPrompt(state, null), run: '1.1' };
  const prompted = { ...loop, policy: () => policy, say: () => {}, readProgress: () => '' };
  const { sandbox, checks, plan, limits, timeouts } = policy;
  const found: DryRun = {
    name: key.name,
    workspace,
    worktree: await treeFor(request, key.name),
    sandbox: sandbox !== null,
    agent: agent.kind,
    isBlind: agentNamed(agent.kind).reports === 'nothing',
    model: agent.model ?? null,
    command: shownCommand(loop, state),
    prompt: await promptText(prompted, effect, readBase(spec.prompt), ''),
    checks: checks.commands.map(({ command }) => command),
    plan: plan === null ? null : plan.file,
    limits,
    runMs: timeouts.runMs,
    notes,
  };
  return new Mask(env, startersEnvironment(process.env)).value(found);
}

/** The state in which the first run is planned. */
async function firstState(
  loop: Parameters<typeof firstProbe>[0],
  { policy }: PlacedRequest,
): Promise<LoopState> {
  const at = Date.now();
  const created = evolve(INITIAL, { type: 'loop.created', at, name: loop.spec.name, policy });
  const begun = evolve(created, { type: 'iteration.started', at, iteration: 1 });
  const plan = await firstProbe(loop, policy);
  const before = { markers: [], problem: null, messages: [], fingerprint: null };
  return plan === null ? begun : { ...begun, turn: { ...begun.turn, before: { ...before, plan } } };
}

async function treeFor(
  { worktree, policy, workspace, env, worktreeAt }: PlacedRequest,
  name: string,
): Promise<DryRun['worktree']> {
  if (worktree !== true) return null;
  const { path, branch } = await placeFor(policy, name, workspace, env, worktreeAt);
  return { path, branch };
}
