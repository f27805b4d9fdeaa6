/**
 * Continues a loop that is paused, was stopped, crashed or hit a limit, or starts one whose creator died.
 *
 * 1. Only its session continues a loop in a session, and only its owner a loop that runs: they get a control.
 * 2. Every other loop belongs to this process afterwards, with its limits changed, and has not been driven yet; or to the daemon.
 */
import { FLAGS, type Settings } from '../settings/settings.ts';
import { policyInput, settingOf } from '../settings/policy.ts';
import type { Policy } from '../loop/policy.ts';
import { describeProblem, findProblems, mergePolicy } from '../loop/validate.ts';
import { checkSpendLimits } from '../owner/money.ts';
import { handOver } from '../background/hand-over.ts';
import type { CreatedLoop } from '../owner/created-loop.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { startUnstarted } from '../owner/start-unstarted.ts';
import { refuseWithoutSandbox } from '../sandbox/wrapper.ts';
import { takePlace } from '../home/child-limits.ts';
import { parentRun } from '../home/enclosing-runs.ts';
import { isUnstarted, type LoopReading } from '../home/read-loop.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { isInSession, treeOf } from '../home/spec.ts';
import { LoopFolder } from '../home/home.ts';
import { readAsked, type Asked } from '../home/unstarted.ts';
import { refuseUnsigned } from '../workspace/start.ts';
import { UserError } from '../user-error.ts';
import { summaryOf } from './summary.ts';
import { requireWorktree } from '../workspace/worktree.ts';
import { ownedLoopAt, refuseEndedInSession, refuseUnreadable } from './find.ts';
import type { Begun, LoopRef, Sent } from './loops.ts';
import { ownHere } from './own-here.ts';
import { driveSilently, sendTo } from './send.ts';

export interface ResumeRequest {
  /** New limits. */
  readonly limits: Settings;
  /** Whether a wait for a usage limit ends. */
  readonly now: boolean;
  /** Variables to add to the environment of the loop. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether it continues in the background, wherever it was. */
  readonly detach: boolean;
}

export type Resumed =
  | { readonly is: 'sent'; readonly sent: Sent; readonly policy: Policy }
  | { readonly is: 'owned'; readonly loop: OwnedLoop }
  /** The daemon owns it. */
  | { readonly is: 'given' };

export interface ResumeHelp {
  /** May throw before a loop that runs gets a control. */
  readonly refuseRunning?: (owner: number) => void;
  /** Called before the loop is given to the daemon; `isDetached` if it belongs in the background, and no run has asked. */
  readonly giving?: (loop: Begun, isDetached: boolean) => void;
}

export async function resumeLoop(
  ref: LoopRef,
  request: ResumeRequest,
  help: ResumeHelp = {},
): Promise<Resumed> {
  const folder = new LoopFolder(ref);
  const asked = readAsked(folder);
  if (asked !== null && isUnstarted(folder)) return start(folder, asked, request, help);
  const found = await ownedLoopAt(ref);
  refuseUnreadable(found);
  const { name, workspace } = ref;
  const { now, env: given, detach } = request;
  const policy = changedPolicy(found.state.policy, request.limits, workspace);
  if (policy !== null) await checkSpendLimits(policy.limits, found.spec.agent);
  if (found.owner !== null) {
    help.refuseRunning?.(found.owner);
    if (policy !== null)
      throw new UserError(`loop ${name} is running; change its limits with: ralph set ${name} …`);
    return send(found, now);
  }
  const { outcome } = found.state;
  if (isInSession(found.spec)) return resumeInSession(found, policy !== null);
  if (outcome?.type === 'done' && policy === null)
    throw new UserError(`loop ${name} is already done; start it again with: ralph run --name ${name} …`);
  const isDetached = detach || found.spec.place === 'background';
  // In the foreground the final report says so.
  if (isDetached && outcome?.type === 'iterations-exhausted' && policy === null)
    throw new UserError(
      `loop ${name} has reached its iteration limit; raise it with: ${summaryOf(found).next}`,
    );
  const own = startersEnvironment(process.env);
  await refuseWithoutSandbox(found.state.policy, own, workspace);
  await requireWorktree(found.spec, own);
  await refuseUnsigned(found.state.policy, treeOf(found.spec), own);
  const inside = parentRun();
  // A child that is resumed counts like one that is started.
  if (inside !== null && found.spec.parent?.folder === inside.folder) await takePlace(inside, found.folder);
  const loop = await ownHere(ref, given);
  try {
    loop.resume(policy, now);
  } catch (error) {
    // A server lives on, and would seem to own the loop.
    loop.close();
    throw error;
  }
  if (isDetached || inside !== null) return give(loop, inside === null, help);
  return { is: 'owned', loop };
}

/** A loop whose creator died is created again as it was asked for. */
async function start(
  folder: LoopFolder,
  asked: Asked,
  { limits, env, detach }: ResumeRequest,
  help: ResumeHelp,
): Promise<Resumed> {
  const policy = changedPolicy(asked.policy, limits, folder.workspace) ?? asked.policy;
  await checkSpendLimits(policy.limits, asked.spec.agent);
  const isChild = parentRun() !== null;
  const place = detach || isChild ? 'background' : asked.spec.place;
  const loop = await startUnstarted(folder, asked, policy, { place, given: env });
  return place === 'background' ? give(loop, !isChild, help) : { is: 'owned', loop: loop.own() };
}

async function give(
  loop: CreatedLoop | OwnedLoop,
  isDetached: boolean,
  { giving }: ResumeHelp,
): Promise<Resumed> {
  giving?.(loop, isDetached);
  await handOver(loop);
  return { is: 'given' };
}

/** Only its session continues a loop; a pause can be taken back from here. */
function resumeInSession(found: LoopReading, changesLimits: boolean): Promise<Resumed> {
  const { name } = found.spec;
  refuseEndedInSession(found);
  if (changesLimits)
    throw new UserError(`loop ${name} runs in a session; change its limits with: ralph set ${name} …`);
  if (!found.state.control.paused) {
    throw new UserError(
      `loop ${name} runs in a session and continues there: open that session again and type anything; end the loop with: ralph stop ${name}`,
    );
  }
  return send(found, false);
}

async function send(found: LoopReading, now: boolean): Promise<Resumed> {
  const sent = await sendTo(found, { type: 'resume', now }, driveSilently);
  return { is: 'sent', sent, policy: found.state.policy };
}

/** The policy with the given limits; null if nothing changes. */
function changedPolicy(policy: Policy, settings: Settings, workspace: string): Policy | null {
  const changed = mergePolicy(policy, policyInput(settings, policy, workspace));
  if (JSON.stringify(changed) === JSON.stringify(policy)) return null;
  const problems = findProblems(changed);
  if (problems.length === 0) return changed;
  const named = problems.map((problem) => {
    const setting = settingOf(problem.field, settings);
    const option = setting === null ? undefined : FLAGS[setting];
    return describeProblem(option === undefined ? problem : { ...problem, field: option });
  });
  throw new UserError(named.join('; '));
}
