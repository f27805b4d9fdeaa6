import { loopResult, type EndedLoop } from '../views/loop-result.ts';
import { takeOver } from '../owner/take-over.ts';
import { requireWorktree } from '../worktree/worktree.ts';
import { checkSpendLimits } from '../owner/money.ts';
import { insideRun, startersEnvironment } from '../store/run-environment.ts';
import { policyInput, settingOf } from '../config/policy.ts';
import { readSettings } from '../config/read.ts';
import { FLAGS, mergeSettings } from '../config/config.ts';
import { parseVariables } from '../config/values.ts';
import { findProblems, describeProblem, mergePolicy } from '../loop/validate.ts';
import type { Policy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import { drive } from './drive.ts';
import { findLoop, sendTo } from './loops.ts';
import { limitSettings, viewOf, viewSettings, type LimitOptions } from './options.ts';
import { reportFrom, viewBeside } from './report.ts';
import { workspaceOf } from './workspace.ts';
import { warn } from './print.ts';

/** `ralph resume`: tells a live loop to go on, or becomes the owner of one that nobody drives. */
export async function resumeLoop(name: string, options: ResumeOptions): Promise<number> {
  const report = reportFrom(options);
  const given = parseVariables('--env', options.env);
  const workspace = workspaceOf(options);
  const found = findLoop(workspace, name);
  if (found.trouble !== null) throw new UserError(found.trouble);
  const policy = changedPolicy(found.state.policy, options, workspace);
  const settings = mergeSettings((await readSettings(workspace)).merged, viewSettings(options));
  const view = viewBeside(report, viewOf(options, settings));
  if (policy !== null) await checkSpendLimits(policy.limits, found.spec.agent);
  if (found.owner !== null) {
    if (report !== null)
      throw new UserError(`"${name}" is running: only whoever drives it can write a report of its end`);
    if (policy !== null)
      throw new UserError(`"${name}" is running: change its limits with: ralph set ${name} …`);
    if (!found.state.control.paused && options.now !== true) {
      warn(`ralph: warning: worker '${name}' is not paused\n`);
      return 0;
    }
    return sendTo(found, { type: 'resume', now: options.now === true }, `resumed ralph loop for ${name}`);
  }
  const { outcome } = found.state;
  if (outcome?.type === 'done' && policy === null) {
    throw new UserError(`"${name}" is done; start it again with: ralph run --name ${name} …`);
  }
  await requireWorktree(found.spec, startersEnvironment(process.env));
  const loop = await takeOver(workspace, name, {
    by: 'person',
    env: startersEnvironment(process.env),
    given,
  });
  loop.forgetPauses();
  // Between our look and the lock somebody else may have driven it on.
  const now = loop.state;
  if (now.outcome !== null) loop.reopen(policy);
  else if (policy !== null) loop.change(policy);
  if (options.now === true || (now.outcome === null && now.control.paused)) {
    loop.receive({ type: 'resume', now: options.now === true });
  }
  const ended = (done: EndedLoop): void => report?.write(loopResult(done));
  const parent = insideRun(process.env);
  if (parent === null) return drive(loop, view, ended);
  const { leaveToOwner } = await import('./child.ts');
  return leaveToOwner(loop, parent.run, view, ended);
}

export interface ResumeOptions extends LimitOptions {
  readonly now?: boolean;
  readonly env: readonly string[];
}

/** The policy with the limits that were given; null when none was. */
function changedPolicy(policy: Policy, options: LimitOptions, workspace: string): Policy | null {
  const settings = limitSettings(options);
  const changed = mergePolicy(policy, policyInput(settings, policy, workspace));
  if (JSON.stringify(changed) === JSON.stringify(policy)) return null;
  const problems = findProblems(changed);
  if (problems.length === 0) return changed;
  const named = problems.map((problem) => {
    const option = FLAGS[settingOf(problem.field, settings) ?? ''];
    return describeProblem(option === undefined ? problem : { ...problem, field: option });
  });
  throw new UserError(named.join('; '));
}
