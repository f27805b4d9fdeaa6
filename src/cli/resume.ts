import { summaryOf } from '../views/loop-summary.ts';
import { loopResult, type EndedLoop } from '../views/loop-result.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { startUnstarted } from '../owner/start-unstarted.ts';
import { takeOver } from '../owner/take-over.ts';
import { refuseWithoutSandbox } from '../sandbox/loop-sandbox.ts';
import { refuseUnsigned } from '../scm/start.ts';
import { requireWorktree } from '../worktree/worktree.ts';
import { checkSpendLimits } from '../owner/money.ts';
import { takePlace } from '../store/child-limits.ts';
import { parentRun } from '../store/enclosing-runs.ts';
import { findFolder, isUnstarted, type LoopReading } from '../store/read-loop.ts';
import { workspaceWith } from '../store/find-workspace.ts';
import type { LoopFolder } from '../store/store.ts';
import { readAsked, type Asked } from '../store/unstarted.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { isInSession, treeOf } from '../store/spec.ts';
import { policyInput, settingOf } from '../config/policy.ts';
import { readSettings } from '../config/read.ts';
import { FLAGS, mergeSettings } from '../config/config.ts';
import { parseVariables } from '../config/values.ts';
import type { Policy, WordingPolicy } from '../loop/policy.ts';
import { describeProblem, findProblems, mergePolicy } from '../loop/validate.ts';
import { UserError } from '../user-error.ts';
import { drive } from './drive.ts';
import {
  checkName,
  findRef,
  ownedLoopAt,
  refOf,
  refuseEndedInSession,
  refuseUnreadable,
} from '../loops/find.ts';
import { localLoops } from '../loops/local-loops.ts';
import { tellSent } from './control.ts';
import { limitSettings, viewOf, viewSettings, type LimitOptions, type ViewOptions } from './options.ts';
import { textsOf } from '../text/wording.ts';
import { reportFrom, viewBeside } from './report.ts';
import { workspaceOf } from './workspace.ts';
import { print } from './print.ts';

/** `ralph resume`: resumes a running loop that is paused, or becomes the owner of a loop that has none. The texts are those of its preset, or `prescribed`. */
export async function resumeLoop(
  name: string,
  options: ResumeOptions,
  prescribed?: WordingPolicy,
): Promise<number> {
  const report = reportFrom(options);
  const given = parseVariables('--env', options.env ?? []);
  const ended = (done: EndedLoop): void => report?.write(loopResult(done));
  const unstarted = findUnstarted(workspaceOf(options), name);
  if (unstarted !== null) {
    const { folder, asked } = unstarted;
    const policy = changedPolicy(asked.policy, options, folder.workspace) ?? asked.policy;
    await checkSpendLimits(policy.limits, asked.spec.agent);
    const settings = mergeSettings((await readSettings(folder.workspace)).merged, viewSettings(options));
    const view = viewBeside(report, viewOf(options, settings));
    const loop = await startUnstarted(folder, asked, policy, given);
    const isDetached = options.detach === true || asked.spec.place === 'background';
    return goOn(loop, view, { isDetached, ended, wording: prescribed ?? policy.wording });
  }
  const found = await ownedLoopAt(findRef(workspaceOf(options), name));
  refuseUnreadable(found);
  const { workspace } = found.folder;
  const policy = changedPolicy(found.state.policy, options, workspace);
  const settings = mergeSettings((await readSettings(workspace)).merged, viewSettings(options));
  const view = viewBeside(report, viewOf(options, settings));
  if (policy !== null) await checkSpendLimits(policy.limits, found.spec.agent);
  if (found.owner !== null) {
    if (report !== null)
      throw new UserError(
        `loop ${name} is running: only its owner (process ${found.owner}) can write a report; drop --report`,
      );
    if (policy !== null)
      throw new UserError(`loop ${name} is running; change its limits with: ralph set ${name} …`);
    const texts = textsOf(prescribed ?? found.state.policy.wording);
    const control = { type: 'resume', now: options.now === true } as const;
    const sent = await localLoops().send(refOf(found), control);
    return tellSent(found.spec, sent, texts.resumed(name), { 'not paused': texts.notPaused(name) });
  }
  const { outcome } = found.state;
  if (isInSession(found.spec)) return resumeInSession(found, policy !== null);
  if (outcome?.type === 'done' && policy === null) {
    throw new UserError(`loop ${name} is already done; start it again with: ralph run --name ${name} …`);
  }
  const isDetached = options.detach === true || found.spec.place === 'background';
  // In the foreground the final report says so.
  if (isDetached && outcome?.type === 'iterations-exhausted' && policy === null)
    throw new UserError(
      `loop ${name} has reached its iteration limit; raise it with: ${summaryOf(found).next}`,
    );
  await refuseWithoutSandbox(found.state.policy, startersEnvironment(process.env), workspace);
  await requireWorktree(found.spec, startersEnvironment(process.env));
  await refuseUnsigned(found.state.policy, treeOf(found.spec), startersEnvironment(process.env));
  const inside = parentRun();
  // A child that is resumed counts like one that is started.
  if (inside !== null && found.spec.parent?.folder === inside.folder) await takePlace(inside, found.folder);
  const loop = await takeOver(workspace, name, {
    by: 'person',
    env: startersEnvironment(process.env),
    given,
  });
  loop.resume(policy, options.now === true);
  const wording = prescribed ?? loop.state.policy.wording;
  return goOn(loop, view, { isDetached, ended, wording });
}

/** A loop of this name whose creator died. */
function findUnstarted(
  from: string,
  name: string,
): { readonly folder: LoopFolder; readonly asked: Asked } | null {
  checkName(name);
  const folder = findFolder(workspaceWith(from, name), name);
  const asked = folder === null ? null : readAsked(folder);
  return folder === null || asked === null || !isUnstarted(folder) ? null : { folder, asked };
}

/** Drives a loop that this process owns, or leaves it in the background. */
async function goOn(
  loop: OwnedLoop,
  view: ViewOptions,
  { isDetached, ended, wording }: GoingOn,
): Promise<number> {
  const { name } = loop.spec;
  const isChild = parentRun() !== null;
  if (isDetached && !isChild) {
    const { leaveInBackground } = await import('./background.ts');
    return leaveInBackground(loop, view, textsOf(wording).resumed(name));
  }
  // Without a prescribed line, stdout has only the agent's output.
  if (wording.resumeLine !== null && view.json !== true && view.quiet !== true)
    print(`${textsOf(wording).resumed(name)}\n`);
  if (!isChild) return drive(loop, view, ended);
  const { followInBackground } = await import('./background.ts');
  return followInBackground(loop, view, { ended });
}

interface GoingOn {
  readonly isDetached: boolean;
  readonly ended: (done: EndedLoop) => void;
  readonly wording: WordingPolicy;
}

/** Only its session continues a loop; a pause can be taken back from here. */
async function resumeInSession(found: LoopReading, changesLimits: boolean): Promise<number> {
  const { spec, state } = found;
  const { name } = spec;
  refuseEndedInSession(found);
  if (changesLimits)
    throw new UserError(`loop ${name} runs in a session; change its limits with: ralph set ${name} …`);
  if (!state.control.paused) {
    throw new UserError(
      `loop ${name} runs in a session and continues there: open that session again and type anything; end the loop with: ralph stop ${name}`,
    );
  }
  const sent = await localLoops().send(refOf(found), { type: 'resume', now: false });
  return tellSent(spec, sent, textsOf(state.policy.wording).resumed(name));
}

export interface ResumeOptions extends LimitOptions {
  readonly now?: boolean;
  readonly detach?: boolean;
  readonly env?: readonly string[];
}

/** The policy with the given limits; null if nothing changes. */
function changedPolicy(policy: Policy, options: LimitOptions, workspace: string): Policy | null {
  const settings = limitSettings(options);
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
