/** The engine's workspace port on the file system: the workspace and the loop's own files. */
import { join, relative } from 'node:path';
import type { Agent, AgentEvent } from '../agents/agent.ts';
import type { Price } from '../agents/prices.ts';
import { readRun } from '../agents/reader.ts';
import { inMessageRun } from '../agents/message-run.ts';
import { runCheck, type CheckSpec } from '../checks/check.ts';
import { checkSlug } from '../checks/slug.ts';
import type { EffectOf, Workspace } from '../engine/ports.ts';
import { isInRepository } from '../git/in-repository.ts';
import type { CheckResult } from '../loop/event.ts';
import { newCount } from '../loop/family.ts';
import { runPlanCheck } from '../plan/check.ts';
import { refuseFullDisk } from '../process/full-disk.ts';
import { processes } from '../process/process.ts';
import { inCheckSandbox } from '../sandbox/loop-sandbox.ts';
import { checkpoint } from '../scm/checkpoints.ts';
import { loopEvidence, type LoopEvidence } from '../scm/evidence.ts';
import { LoopTree } from '../scm/loop-tree.ts';
import type { Packing } from '../scm/packing.ts';
import { loopScm } from '../scm/scm.ts';
import { checkAlias, linkAlias } from '../store/aliases.ts';
import { CheckLogs } from '../store/check-logs.ts';
import { childChanges } from '../store/children.ts';
import { copyToDesk } from '../store/desk.ts';
import { ledgerAccess } from '../store/family.ts';
import { closeDeadRuns, recordedChanges, recordedChildren } from '../store/recorded-children.ts';
import type { LoopFolder } from '../store/store.ts';
import { checkMarker, runEnvironment } from '../store/run-environment.ts';
import { hideKeys, hideSecrets } from '../loop/secrets.ts';
import { sharedLimit } from '../store/shared-limits.ts';
import { treeOf } from '../store/spec.ts';
import { systemErrorText } from '../user-error.ts';
import { agentEnvironment } from './agent-environment.ts';
import { explained } from './explained.ts';
import { changedAfter } from './changed-after.ts';
import { lookAtPlan } from './loop-plan.ts';
import { findMarker, moveAside } from './markers.ts';
import { searchInTime } from './pattern-search.ts';
import { lookAtGuarded } from '../sandbox/guard.ts';
import { writePrompt, type PromptedLoop } from './write-prompt.ts';

export function loopWorkspace(loop: WorkspaceSpec): Workspace {
  const { spec, folder, env, agent, show, recall } = loop;
  const tree = new LoopTree(loop);
  const checkLogs = new CheckLogs(folder);
  const look = (): void => lookAtGuarded(folder, loop.say);
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
    look();
    try {
      return await work();
    } finally {
      look();
    }
  };
  return {
    async look(effect, interrupt) {
      const { markers, messages, messagesAfter, fingerprint: wantsFingerprint } = effect;
      const found = markers.map((name) => {
        const { isThere, problem } = findMarker(folder.desk.marker(name), name, roots);
        return { name, isThere, problem };
      });
      const isDone = loop.policy().taskFolder && found.some(({ isThere }) => isThere);
      const recorded = isDone ? recordedChildren(folder, loop.policy()) : null;
      if (recorded !== null) await closeDeadRuns(folder.desk, recorded);
      const childrenProblem = recorded?.problem ?? null;
      const plan = await explained(folder.path, () => lookAtPlan(loop, effect));
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
    moveAside: (markers) => moveAside(folder.desk, markers, roots),
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
          desk: folder.desk.run(run.id),
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
  const copy = folder.copyOnDesk(log);
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
    showOnDesk(folder, log);
    if (iteration > 0) for (const emptied of logs.add(log, iteration, result)) showOnDesk(folder, emptied);
  }
  if (policy.aliases) linkAlias(spec.workspace, checkAlias(iteration, copy), copy);
  return result;
}

/** Copies a log to the desk; a desk that cannot be written is no reason to end the loop. */
function showOnDesk(folder: LoopFolder, log: string): void {
  try {
    copyToDesk(folder, log);
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
