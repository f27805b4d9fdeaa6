import { assumptions } from '../loop/charge.ts';
import { duration, durationText, ofLimit } from '../loop/counted.ts';
import { howItFailed } from '../loop/exit-code.ts';
import { limitUse, usesAbove } from '../loop/limit-use.ts';
import type { SandboxPolicy } from '../loop/policy.ts';
import type { OpenQuestion } from '../loop/questions.ts';
import { spendOf, type Knowledge } from '../loop/report.ts';
import { costOf, tokensOf } from '../loop/spend-text.ts';
import type { LoopView } from '../loops/loops.ts';
import type { ChildNow } from '../loops/view.ts';
import { wrapped } from './columns.ts';
import { commitsText } from './commits.ts';
import { evidenceRows } from './evidence.ts';
import { limitChangeText } from './limits.ts';
import { brief, homely, visible } from './one-line.ts';
import { troubleText } from './notices.ts';
import { planRows } from './plan.ts';
import { localTime } from './times.ts';

interface Reader {
  /** The home folder. */
  readonly home: string | undefined;
  /** The status in the words of the caller. */
  readonly word?: string;
  readonly now: number;
  /** The columns that a line may have; the command and the folder at the end stay in one piece, to be copied. */
  readonly width?: number;
  /** Puts the typed name of Ralph into advice. */
  readonly advise?: (text: string) => string;
  readonly paint?: (colour: 'green' | 'red', text: string) => string;
}

const asItIs = (text: string): string => text;

/** What `ralph status` says about a loop. The documented lines come first. */
export function statusText(
  { summary, state, report, children, folder, about, doing }: LoopView,
  { home, word = summary.status, now, width = Infinity, advise = asItIs, paint = (_, text) => text }: Reader,
): string {
  const { reason, waiting, warning, next } = summary;
  const pattern = state.policy.completion.detectors.find((detector) => detector.kind === 'pattern');
  const silence = state.policy.timeouts.inactivityMs;
  const lines = [
    `Ralph Loop: ${summary.name}`,
    `Status: ${word}`,
    `Iteration: ${ofLimit(summary.iterations, summary.iterationLimit)}`,
    `Started: ${time(report.startedAt)}`,
    `Current iteration started: ${time(report.iterations.at(-1)?.startedAt ?? null)}`,
    `Consecutive failures: ${state.failures.consecutive}`,
    `Total failures: ${state.failures.total}`,
    `Inactivity timeout: ${silence === null ? 'none' : timeoutText(silence)}`,
    ...(pattern === undefined ? [] : [`Done pattern: ${pattern.pattern}`]),
    ...aboutLines(about),
    ...(doing === null ? [] : [`Now: ${brief(visible(doing.what))}, ${agoText(now - doing.since)}`]),
    ...(summary.owner === null ? [] : [`Owner: process ${summary.owner}`]),
    ...(summary.window === undefined ? [] : [`Window: ${summary.window}`]),
    ...(summary.tags === undefined ? [] : [`Tags: ${summary.tags.join(', ')}`]),
    ...report.checks.flatMap(({ command, result }) =>
      result.code === 0
        ? [`Check: ${command}: ${paint('green', 'passed')}`]
        : [
            `Check: ${command}: ${paint('red', 'failed')} (${howItFailed(result)}${failingSince(command, report)})`,
            `${LOG}${result.log}`,
          ],
    ),
    ...planRows(summary.record).map(([label, text]) => `${label === 'plan' ? 'Plan' : 'Ticked'}: ${text}`),
    ...evidenceRows(summary.record).map(
      ([label, text]) => `${label === 'evidence' ? 'Evidence' : 'Restored'}: ${text}`,
    ),
    ...summary.record.limitChanges.map((change) => `Limit changed: ${limitChangeText(change)}`),
    ...(summary.limits.length === 0 ? [] : [`Used: ${summary.limits.map(limitUse).join(', ')}`]),
    ...usesAbove(state).map(
      ({ name, uses }) => `Budget of "${name}": ${uses.map(limitUse).join(', ')} used by its family`,
    ),
    ...spendLines({ state, report }),
    ...(report.rejectedClaims === 0
      ? []
      : [`Rejected claims: ${report.rejectedClaims}${rejectionText(report)}`]),
    ...(report.commits === 0 ? [] : [`Commits: ${commitsText(summary.record)}`]),
    ...children.map((child) => `Child: ${childText(child)}`),
    ...(waiting === null ? [] : [`Waiting: ${waiting}`]),
    ...(state.policy.sandbox === null ? [] : [capitalized(sandboxLine(state.policy.sandbox))]),
    ...(reason === null ? [] : [`Reason: ${advise(reason)}`]),
    ...(warning === undefined ? [] : [`Warning: ${advise(warning)}`]),
    ...(summary.notices ?? []).map((trouble) => `Notices: ${troubleText(trouble)}`),
  ];
  return [
    ...lines.map((line) => (line.startsWith(LOG) ? line : wrapped(line, width))),
    ...state.questions.flatMap((question) => questionLines(question, summary.name, { width, advise })),
    ...(next === null ? [] : [`Next: ${advise(next)}`]),
    `Logs: ${homely(folder, home)}`,
  ].join('\n');
}

/** A path stays in one piece, so that a person can copy it. */
const LOG = '  log: ';

function aboutLines({ task, agent, branch }: LoopView['about']): readonly string[] {
  const model = agent === null || agent.model === null ? '' : ` (model ${visible(agent.model)})`;
  return [
    ...(task === null ? [] : [`Task: ${visible(task)}`]),
    ...(agent === null ? [] : [`Agent: ${visible(agent.name)}${model}`]),
    ...(branch === null ? [] : [`Branch: ${visible(branch)}`]),
  ];
}

/** `40 s` for less than a minute, else `3m 5s`. */
export function agoText(ms: number): string {
  const text = duration(Math.max(0, ms), ' ');
  return ms < 60_000 ? text.replace(/s$/, ' s') : text;
}

/** Since when a check fails without a break, if that is longer than one iteration. */
export function failingSince(
  command: string,
  { iterations }: Pick<LoopView['report'], 'iterations'>,
): string {
  const ran = iterations.filter(({ checkResults }) => checkResults.some(({ name }) => name === command));
  const passed = ran.findLastIndex(({ checkResults }) =>
    checkResults.some((one) => one.name === command && one.passed),
  );
  const first = ran[passed + 1];
  if (first === undefined || first === ran.at(-1)) return '';
  const isEarlier = passed < 0 && first.iteration > 1;
  return `, since iteration ${first.iteration}${isEarlier ? ' or earlier' : ''}`;
}

/** The last rejected claim, and what contradicted it. */
export function rejectionText({ lastRejection, protectedClaims }: LoopView['report']): string {
  if (lastRejection === null) return '';
  const { iteration, failed } = lastRejection;
  const why =
    failed.length > 0
      ? `failed: ${failed.map(brief).join(', ')}`
      : protectedClaims > 0
        ? 'protected files had changed'
        : 'the run did not succeed';
  return ` (the last in iteration ${iteration}, ${why})`;
}

/** The same for programs. */
export function statusData({ summary, children, about, doing }: LoopView): Readonly<Record<string, unknown>> {
  return {
    ...summary,
    about,
    ...(doing === null ? {} : { doing }),
    ...(children.length === 0 ? {} : { children }),
  };
}

/** What the sandbox of a loop is. */
export function sandboxLine({ checks, network, write }: SandboxPolicy): string {
  const parts = [
    checks ? 'sandbox: agent and checks' : 'sandbox: agent; checks run outside',
    ...(write.length === 0 ? [] : [`also writable: ${write.join(', ')}`]),
    ...(network ? [] : ['no network']),
  ];
  return parts.join('; ');
}

function time(moment: number | null): string {
  return moment === null ? '-' : localTime(moment).replace('T', ' ');
}

/** A question, and what answers it. Further lines of a text are indented, so that none looks like a line of the status. */
function questionLines(
  { id, text, default: byDefault, until }: OpenQuestion,
  loop: string,
  { width, advise }: Required<Pick<Reader, 'width' | 'advise'>>,
): readonly string[] {
  const lines = text.split('\n').map((line, at) => `${at === 0 ? 'Question: ' : '  '}${visible(line)}`);
  const end = until === null ? [] : [`  without an answer: "${visible(byDefault ?? '')}" at ${time(until)}`];
  return [
    ...lines.map((line) => wrapped(line, width)),
    advise(`  answer with: ralph answer ${loop} "…" --question ${id}`),
    ...end.map((line) => wrapped(line, width)),
  ];
}

/** Cost with its source, and tokens by kind: in total and per iteration. */
function spendLines({ state, report }: Knowledge): readonly string[] {
  const { total, iterations } = spendOf({ state, report });
  const charged = assumptions(state);
  const { below } = state.family;
  const tokenTotal = tokensOf(total, charged.tokens, below);
  if (total.source === null && tokenTotal === null && below.usd === 0)
    return report.runs === 0 ? [] : ['Cost: unknown'];
  const omitted = (iterations[0]?.iteration ?? 1) - 1;
  return [
    `Cost: ${costOf(total, charged.usd, below)}`,
    `Tokens: ${tokenTotal ?? 'unknown'}`,
    ...(omitted > 0
      ? [`  … ${omitted === 1 ? 'iteration 1' : `iterations 1 to ${omitted}`}: see progress.md`]
      : []),
    ...iterations.map((spend) => {
      const tokens = tokensOf(spend);
      return `  iteration ${spend.iteration}: ${costOf(spend)}${tokens === null ? '' : `, ${tokens}`}`;
    }),
  ];
}

function childText(child: ChildNow): string {
  const { iterations, iterationLimit } = child;
  const count = iterations === null ? '' : `, iteration ${ofLimit(iterations, iterationLimit)}`;
  return `${child.name}: ${child.status}${count}`;
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Document 003 writes a minute as `60s`. */
function timeoutText(ms: number): string {
  return ms === 60_000 ? '60s' : durationText(ms);
}
