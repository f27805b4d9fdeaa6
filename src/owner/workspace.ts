/** The engine's workspace port on the file system: the workspace and the loop's own files. */
import { join, relative } from 'node:path';
import type { Agent, AgentEvent } from '../agents/agent.ts';
import type { Price } from '../agents/prices.ts';
import { readRun } from '../agents/reader.ts';
import { inMessageRun } from '../agents/message-run.ts';
import { runCheck, type CheckSpec, checkSlug } from '../checks/check.ts';
import type { EffectOf, Workspace } from '../engine/ports.ts';
import { isInRepository } from '../git/location.ts';
import type { CheckResult } from '../loop/event.ts';
import { newCount } from '../loop/family.ts';
import { runPlanCheck } from '../checks/plan-check.ts';
import { refuseFullDisk } from '../process/full-disk.ts';
import { processes } from '../process/process.ts';
import { inCheckSandbox } from '../workspace/loop-sandbox.ts';
import { checkpoint } from '../workspace/checkpoints.ts';
import { loopEvidence, type LoopEvidence } from '../workspace/evidence.ts';
import { LoopTree } from '../workspace/loop-tree.ts';
import type { Packing } from '../git/pack-records.ts';
import { loopScm } from '../workspace/scm.ts';
import { checkAlias, linkAlias } from '../workspace/aliases.ts';
import { CheckLogs } from '../projections/check-logs.ts';
import { childChanges } from '../home/children.ts';
import { copyToWorkspaceFolder } from '../workspace/workspace-folder.ts';
import { ledgerAccess } from '../home/family.ts';
import { closeDeadRuns, recordedChanges, recordedChildren } from '../home/recorded-children.ts';
import type { LoopFolder } from '../home/home.ts';
import { checkMarker, runEnvironment } from '../home/run-environment.ts';
import { hideKeys, hideSecrets } from '../loop/secrets.ts';
import { sharedLimit } from '../home/shared-limits.ts';
import { treeOf } from '../home/spec.ts';
import { systemErrorText } from '../user-error.ts';
import { agentEnvironment } from './loop-environment.ts';
import { explained } from './refusals.ts';
import { changedAfter } from './changed-after.ts';
import { probePlan } from './loop-plan.ts';
import { findMarker, moveAside } from './markers.ts';
import { searchInTime } from './pattern-search.ts';
import { clearGuarded } from '../sandbox/guard.ts';
import { writePrompt, type PromptedLoop } from './write-prompt.ts';

export function loopWorkspace(loop: WorkspaceSpec): Workspace {
  const { spec, folder, env, agent, show, recall } = loop;
  const tree = new LoopTree(loop);
  const checkLogs = new CheckLogs(folder);
  const clear = (): void => clearGuarded(folder, loop.say);
  let scmMade: ReturnType<typeof loopScm> | null = null;
  const scm = () => (scmMade ??= loopScm(loop, tree));
  let evidence: LoopEvidence | null = null;
  const roots = [spec.workspace, treeOf(spec)];
  /** Runs something that may change files. */
  const changing = <T>(work: () => Promise<T>): Promise<T> => {
    tree.forget();
    return explained(folder.path, work);
  };
  /** Runs something in which the agent's code may run: checks, and the hooks of a commit. */
  const guarding = async <T>(work: () => Promise<T>): Promise<T> => {
    clear();
    try {
      return await work();
    } finally {
      clear();
    }
  };
  return {
    async probe(effect, interrupt) {
      const { markers, messages, messagesAfter, fingerprint: wantsFingerprint } = effect;
      const found = markers.map((name) => {
        const { isThere, problem } = findMarker(folder.workspaceFolder.marker(name), name, roots);
        return { name, isThere, problem };
      });
      const isDone = loop.policy().taskFolder && found.some(({ isThere }) => isThere);
      const recorded = isDone ? recordedChildren(folder, loop.policy()) : null;
      if (recorded !== null) await closeDeadRuns(folder.workspaceFolder, recorded);
      const childrenProblem = recorded?.problem ?? null;
      const plan = await explained(folder.path, () => probePlan(loop, effect));
      const seen = wantsFingerprint
        ? await explained(folder.path, () => tree.fingerprint(effect.iteration, interrupt))
        : null;
      if (interrupt.aborted) return null;
      return {
        markers: found.filter(({ isThere }) => isThere).map(({ name }) => name),
        problem: found.find(({ problem }) => problem !== null)?.problem ?? null,
        ...(messages ? loop.bus.probe(messagesAfter) : NO_MESSAGES),
        fingerprint: seen,
        ...(childrenProblem === null ? {} : { childrenProblem }),
        ...(plan === null ? {} : { plan }),
      };
    },
    examine: (effect) => (evidence ??= loopEvidence(loop)).examine(effect),
    restore: (effect) => changing(() => (evidence ??= loopEvidence(loop)).restore(effect)),
    moveAside: (markers) => moveAside(folder.workspaceFolder, markers, roots),
    writePrompt: (effect) => changing(() => writePrompt(loop, effect)),
    read: (run, { policy, session }) =>
      readRun(
        // A run that writes a commit message makes no claim.
        run.purpose === 'work' ? agent : inMessageRun(agent),
        run.purpose === 'work' ? policy.completion.detectors : [],
        {
          shown: run.output,
          startedAt: run.plannedAt,
          folder: folder.run(run.id),
          workspaceFolder: folder.workspaceFolder.run(run.id),
          argv: spec.agent.argv,
          env: () => agentEnvironment({ ...loop, run: run.id, policy }, agent),
          session,
          price: loop.price,
          hide: (text) => hideSecrets(text, env),
          search: searchInTime,
        },
        show,
        recall,
      ),
    knownLimit: (now) => sharedLimit(loop.account, now),
    changedAfter: async (moment) => changedAfter(treeOf(spec), moment),
    fullDisk: (run) => fullDisk(folder.run(run), treeOf(spec)),
    check: (effect, graceMs, interrupt) =>
      changing(() => guarding(() => check(loop, effect, graceMs, interrupt, checkLogs))),
    changes: (...effect) => explained(folder.path, () => scm().changes(...effect)),
    commit: (...effect) => explained(folder.path, () => guarding(() => scm().commit(...effect))),
    hasRecords: () => isInRepository(treeOf(spec)),
    checkpoint: (effect, interrupt) => checkpoint(loop, effect, interrupt, tree.take()),
    familyCount: (state) => newCount(state, ledgerAccess(spec).settle(state)),
    childChanges: (state) => [
      ...childChanges(folder, state),
      ...(state.policy.taskFolder ? recordedChanges(folder, state) : []),
    ],
    // In a sandbox, everything ends with the run.
    sparedGroups: ({ policy }) =>
      policy.taskFolder && policy.sandbox === null ? recordedChildren(folder).groups : [],
    questions: (state) => loop.bus.questions(state),
    edits: (state) => loop.edits(state),
  };
}

const NO_MESSAGES = { messages: [] } as const;

export interface WorkspaceSpec extends PromptedLoop {
  readonly agent: Agent;
  readonly show: (event: AgentEvent) => void;
  readonly recall: (event: AgentEvent) => void;
  /** The price of tokens. */
  readonly price: Price;
  /** The account that pays for the agent. */
  readonly account: string;
  readonly edits: Workspace['edits'];
  readonly packing: Packing;
}

async function check(
  { spec, folder, env, policy: currentPolicy }: WorkspaceSpec,
  effect: EffectOf<'check'>,
  graceMs: number,
  interrupt: AbortSignal,
  logs: CheckLogs,
): Promise<CheckResult | null> {
  const { iteration, key, index, timeoutMs } = effect;
  const policy = currentPolicy();
  const run = effect.run ?? `${iteration}.1`;
  // The name of a log is shown in many places, so it must not contain a key.
  const commands = policy.checks.commands.map(({ command }) => hideKeys(command));
  const place = iteration === 0 ? folder.baseline : join(folder.run(run), 'checks');
  const log = join(place, `${checkSlug(commands, index)}.log`);
  const copy = folder.copyInWorkspaceFolder(log);
  // A path relative to the workspace is wrong in a worktree.
  const shownAs = spec.worktree === undefined ? relative(spec.workspace, copy) : copy;
  const checking = async (): Promise<CheckSpec> => ({
    command: effect.check.command,
    cwd: treeOf(spec),
    ...(await inCheckSandbox(
      { spec, folder, env },
      policy,
      runEnvironment({ spec, folder, env, policy, run }),
    )),
    marker: checkMarker(spec, key),
    log,
    shownAs,
    timeoutMs,
    maxBytes: policy.limits.outputBytes,
    graceMs,
  });
  const { plan } = policy;
  const result =
    effect.check.plan === true && plan !== null
      ? await runPlanCheck({ root: treeOf(spec), file: plan.file, start: folder.plan, log, shownAs })
      : await runCheck(await checking(), processes, interrupt);
  if (result !== null) {
    showInWorkspaceFolder(folder, log);
    if (iteration > 0)
      for (const emptied of logs.add(log, iteration, result)) showInWorkspaceFolder(folder, emptied);
  }
  if (policy.aliases) linkAlias(spec.workspace, checkAlias(iteration, copy), copy);
  return result;
}

/** Copies a log to the workspace folder; a workspace folder that cannot be written is no reason to end the loop. */
function showInWorkspaceFolder(folder: LoopFolder, log: string): void {
  try {
    copyToWorkspaceFolder(folder, log);
  } catch {
    // The log itself is in the state.
  }
}

function fullDisk(own: string, work: string): string | null {
  try {
    refuseFullDisk(own, work);
    return null;
  } catch (error) {
    return error instanceof Error ? systemErrorText(error, null) : String(error);
  }
}
