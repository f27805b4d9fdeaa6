import type { FamilyCount } from '../loop/event.ts';
import type { Outcome } from '../loop/outcome.ts';
import { NOTHING_KNOWN, spends, type IterationSpend } from '../loop/report.ts';
import type { OpenQuestion } from '../loop/questions.ts';
import { openRun } from '../loop/run.ts';
import type { Until } from '../loop/policy.ts';
import { claimWays } from '../loop/prompt-plan.ts';
import { howItFailed } from '../loop/exit-code.ts';
import { hideKeys } from '../loop/secrets.ts';
import { orphanOf } from '../home/orphan.ts';
import { isEnlisted, whyRefused } from '../home/background.ts';
import { readOutbox, type NoticeProblem } from '../notices/outbox-file.ts';
import { endRecord, type EndRecord } from '../projections/end-record.ts';
import { familyNow } from '../home/family.ts';
import { journalProblem } from '../home/journal-problem.ts';
import type { LoopReading } from '../home/read-loop.ts';
import { usesOfLimits, type LimitUse } from '../loop/limit-use.ts';
import { parentOf } from '../home/enclosing-runs.ts';
import { isInSession, type TmuxWindow } from '../home/spec.ts';
import { tmuxPlaceOf } from '../home/tmux-place.ts';
import { reasonOf } from '../user-error.ts';
import { waitingFor } from '../text/waits.ts';

/** The state of a loop, for `ralph ls` and `ralph status`. */
export interface LoopSummary {
  readonly id: string;
  readonly name: string;
  /** The id of the loop that it is a child of; null if it has none. */
  readonly parent: string | null;
  /**
   * The outcome, if it has ended; `in-session` between two steps of its session; `left` or `crashed` if it should have an owner
   * and has none.
   */
  readonly status: Outcome['type'] | 'running' | 'paused' | 'in-session' | 'left' | 'crashed' | 'unreadable';
  readonly owner: number | null;
  readonly workspace: string;
  /** Present if its agent runs in a sandbox. */
  readonly sandbox?: true;
  /** Present if the user has given it tags. */
  readonly tags?: readonly string[];
  /** Present if it is running and has a tmux window: `ralph:night`. */
  readonly window?: string;
  readonly iterations: number;
  readonly iterationLimit: number | null;
  /** Why the loop is not running. */
  readonly reason: string | null;
  /** What the loop waits for. */
  readonly waiting: string | null;
  /** Present if it has questions without an answer; `ralph answer` answers the first. */
  readonly questions?: readonly OpenQuestion[];
  /** What is wrong with its files although they can be read. */
  readonly warning?: string;
  /** Notices that could not be delivered; present if there are any. */
  readonly notices?: readonly NoticeTrouble[];
  readonly next: string | null;
  /** The limits on cost, tokens and active time that it has. */
  readonly limits: readonly LimitUse[];
  /** What the other loops of its family have spent, and the limits above it; present if it has a family. */
  readonly family?: FamilyCount;
  readonly verification: Verification;
  /** What the last few iterations used; `usd` is null if the cost is unknown. */
  readonly spends: readonly (Omit<IterationSpend, 'usd'> & { readonly usd: number | null })[];
  readonly record: EndRecord;
}

const IS_STATUS: Readonly<Record<LoopSummary['status'], true>> = {
  running: true,
  paused: true,
  'in-session': true,
  left: true,
  crashed: true,
  unreadable: true,
  done: true,
  waiting: true,
  'iterations-exhausted': true,
  'time-exhausted': true,
  'cost-exhausted': true,
  'tokens-exhausted': true,
  'failures-exhausted': true,
  'limit-waits-exhausted': true,
  stuck: true,
  'prompt-lost': true,
  'bad-input': true,
  fatal: true,
  stopped: true,
};

/** The words that lists show for the status of a loop. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are its keys
export const SHOWN_STATUSES = Object.keys(IS_STATUS) as readonly LoopSummary['status'][];

export function summaryOf(loop: LoopReading): LoopSummary {
  try {
    return summaryOfReadable(loop);
  } catch (error) {
    // Values that no version of Ralph writes must not hide the other loops of a list.
    const { message = reasonOf(error), remedy } = journalProblem(loop.folder, error, loop.owner) ?? {};
    return summaryOfReadable({
      ...loop,
      ...NOTHING_KNOWN,
      trouble: message,
      ...(typeof remedy === 'string' ? { remedy } : {}),
    });
  }
}

function summaryOfReadable(loop: LoopReading): LoopSummary {
  const { spec, report, owner, trouble, warning, remedy } = loop;
  const family = familyNow(spec, loop.state);
  const state = { ...loop.state, family };
  const status = statusOf();
  const record = recordOf();
  function statusOf(): LoopSummary['status'] {
    if (trouble !== null) return 'unreadable';
    if (state.outcome !== null) return state.outcome.type;
    if (state.control.paused) return 'paused';
    if (owner !== null || isStarting(loop)) return 'running';
    if (isInSession(spec)) return 'in-session';
    return report.isLeft ? 'left' : 'crashed';
  }
  function recordOf(): EndRecord {
    const ended = endRecord(state, report, spec);
    if (trouble !== null) return { ...ended, reason: trouble, next: remedy ?? null };
    return status === 'running' ? { ...ended, reason: 'still running', next: null } : ended;
  }
  const isActive = status === 'running' || (owner !== null && openRun(state) !== null);
  const isAlone = status === 'crashed' || status === 'left';
  const agent = isAlone ? orphanOf(loop) : null;
  const orphan = agent === null ? '' : `; its agent (process ${agent}) is still running`;
  const refused = isAlone ? whyRefused(spec.id) : null;
  const alone = isAlone ? `${refused ?? 'no process runs it'}${orphan}` : null;
  return {
    id: spec.id,
    name: spec.name,
    parent: parentOf(spec),
    status,
    owner,
    workspace: spec.workspace,
    ...(state.policy.sandbox === null ? {} : { sandbox: true as const }),
    ...(spec.tags === undefined ? {} : { tags: spec.tags }),
    ...(spec.window === undefined || owner === null ? {} : { window: windowName(spec.window, spec.name) }),
    iterations: record.iterations,
    iterationLimit: record.iterationLimit,
    // The folder is long and would fill the whole row of a list; `ralph status` names it.
    reason:
      (trouble === null ? null : withoutFolder(trouble, loop)) ??
      alone ??
      (state.outcome === null ? null : record.reason),
    waiting: waitingFor(
      state,
      owner !== null ? 'process' : status === 'in-session' ? 'session' : null,
      Date.now(),
    ),
    ...(state.questions.length === 0 ? {} : { questions: state.questions }),
    ...(warning === undefined ? {} : { warning }),
    ...noticeTroubles(loop),
    next: record.next,
    limits: usesOfLimits(state, isActive ? Math.max(0, Date.now() - state.now) : 0),
    ...(family.below.loops === 0 && family.above.length === 0 ? {} : { family }),
    verification: verificationOf(loop),
    spends: spends(report).map(withoutUnknown),
    record,
  };
}

/** A place that notices of a loop are sent to, and what went wrong there. */
export interface NoticeTrouble extends NoticeProblem {
  readonly to: string;
  /** How many are still to be sent. */
  readonly waiting: number;
}

function noticeTroubles({ spec, folder }: LoopReading): Pick<LoopSummary, 'notices'> {
  if (spec.notices === undefined) return {};
  const notices = Object.entries(readOutbox(folder.notices)?.targets ?? {}).flatMap(
    ([to, { waiting, problem }]): readonly NoticeTrouble[] =>
      problem === undefined ? [] : [{ to, waiting, ...problem }],
  );
  return notices.length === 0 ? {} : { notices };
}

/** Whether its creator has left it to the daemon, which takes it over in a moment. */
function isStarting({ spec, state, report }: LoopReading): boolean {
  return report.isLeft && state.iteration === 0 && isEnlisted(spec.id);
}

/** Without the folder, except in the command. */
function withoutFolder(trouble: string, { folder, remedy = '' }: LoopReading): string {
  const what = trouble.endsWith(remedy) ? trouble.slice(0, trouble.length - remedy.length) : trouble;
  return `${what.replaceAll(`${folder.path}/`, '')}${trouble.slice(what.length)}`;
}

function withoutUnknown(spend: IterationSpend): LoopSummary['spends'][number] {
  return { ...spend, usd: spend.source === null ? null : spend.usd };
}

/** What completes a loop: how its agent can claim to be done, and the checks that verify it. */
interface Verification {
  readonly until: Until;
  /** The file whose existence is a claim; null if no file is. */
  readonly doneFile: string | null;
  /** What the agent can print as a claim; null if no text is one, or none that it could be told. */
  readonly words: string | null;
  readonly checks: readonly VerifyingCheck[];
}

/** A check with its last result. */
interface VerifyingCheck {
  readonly command: string;
  /** Null if it has not run yet. */
  readonly passed: boolean | null;
  /** `exit 1`, `Timeout`; null if it has not failed. */
  readonly failure: string | null;
  /** The copy of its output in the workspace folder. */
  readonly log: string | null;
}

function verificationOf({ state, report, folder }: LoopReading): Verification {
  const { completion, checks } = state.policy;
  const ways = claimWays(state.policy);
  const marker = ways?.marker ?? null;
  return {
    until: completion.until,
    doneFile: marker === null ? null : folder.workspaceFolder.marker(marker),
    words: ways?.tag ?? ways?.word ?? null,
    checks: checks.commands.map(({ command }) => {
      const result = report.checks.find((one) => one.command === command)?.result;
      return {
        command: hideKeys(command),
        passed: result === undefined ? null : result.code === 0,
        failure: result === undefined || result.code === 0 ? null : howItFailed(result),
        log: result?.log ?? null,
      };
    }),
  };
}

/** How people name the window of a loop: `ralph:night`. */
export function windowName(window: TmuxWindow, loop: string): string {
  return `${tmuxPlaceOf({ window }).session}:${loop}`;
}
