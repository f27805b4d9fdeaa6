import { planRows } from '../text/plan.ts';
import { assumptions } from '../loop/charge.ts';
import { costOf, tokensOf } from '../loop/spend-text.ts';
import type { SandboxPolicy } from '../loop/policy.ts';
import { visible, homely } from '../text/one-line.ts';
import type { OpenQuestion } from '../loop/questions.ts';
import { NOTHING_KNOWN, spendOf } from '../loop/report.ts';
import { workspaceWith } from '../store/find-workspace.ts';
import { readLoopIn, readLoops, type LoopReading } from '../store/read-loop.ts';
import { howItFailed } from '../loop/exit-code.ts';
import { familyNow } from '../store/family.ts';
import { limitUse, usesAbove } from '../loop/limit-use.ts';
import { maskOf } from '../store/mask.ts';
import { childrenNow, type ChildNow } from '../views/children-now.ts';
import { summaryOf, type LoopSummary } from '../views/loop-summary.ts';
import { localTime } from '../text/times.ts';
import { ofLimit, durationText } from '../loop/counted.ts';
import { commitsText } from '../text/commits.ts';
import { evidenceRows } from '../text/evidence.ts';
import { limitChangeText } from '../text/limits.ts';
import { UserError } from '../user-error.ts';
import { findLoop } from '../loops/find.ts';
import { listedWorkspace, workspaceOf } from './workspace.ts';
import { listHere, ls } from './ls.ts';
import { print, printJson } from './print.ts';

/** `ralph status`: exits 0 if the loop is running, 1 if it is not, 2 if it does not exist or cannot be read. */
export async function status(
  name: string | null,
  options: { readonly json?: boolean; readonly status?: string; readonly cwd?: string },
): Promise<number> {
  if (options.status !== undefined) {
    if (name !== null)
      throw new UserError('cannot use --status with the name of a loop; list loops with: ralph ls --status');
    return ls(options);
  }
  if (name === null) {
    const workspace = listedWorkspace(options);
    if (options.json !== true) return listHere(workspace);
    printJson(readLoops(workspace).map(shownSummary), 2);
    return 0;
  }
  const loop = findLoop(workspaceWith(workspaceOf(options), name), name);
  const summary = summaryOf(loop);
  if (options.json === true) printJson(statusJson(loop), 2);
  else print(`${shownText(loop, summary)}\n`);
  if (summary.status === 'unreadable') return 2;
  return loop.owner !== null || summary.status === 'in-session' ? 0 : 1;
}

/** The summary with its child loops as they are now. */
function statusJson(loop: LoopReading): object {
  const children = childrenNow(loop);
  return { ...shownSummary(loop), ...(children.length === 0 ? {} : { children }) };
}

/** The summary of a loop without secrets. */
export function shownSummary(loop: LoopReading): LoopSummary {
  return maskOf(loop.spec).value(summaryOf(loop));
}

/** A loop as `ralph status` shows it, for its own sandbox. */
export function describedLoop(path: string): { readonly text: string; readonly summary: unknown } {
  const loop = readLoopIn(path);
  return { text: shownText(loop, summaryOf(loop)), summary: statusJson(loop) };
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

/** The state of a loop without secrets. */
export function shownText(loop: LoopReading, summary: LoopSummary, word?: string): string {
  return maskOf(loop.spec).text(describe(loop, summary, word));
}

/** `word` is the status in the words of the caller. */
function describe(loop: LoopReading, summary: LoopSummary, word: string = summary.status): string {
  const { spec, owner } = loop;
  const { reason, waiting, warning, next } = summary;
  const readable = summary.status === 'unreadable' ? { ...loop, ...NOTHING_KNOWN } : loop;
  const { report } = readable;
  const state = { ...readable.state, family: familyNow(spec, readable.state) };
  const pattern = state.policy.completion.detectors.find((detector) => detector.kind === 'pattern');
  const silence = state.policy.timeouts.inactivityMs;
  return [
    `Ralph Loop: ${spec.name}`,
    `Status: ${word}`,
    `Iteration: ${ofLimit(summary.iterations, summary.iterationLimit)}`,
    `Started: ${time(report.startedAt)}`,
    `Current iteration started: ${time(report.iterations.at(-1)?.startedAt ?? null)}`,
    `Consecutive failures: ${state.failures.consecutive}`,
    `Total failures: ${state.failures.total}`,
    `Inactivity timeout: ${silence === null ? 'none' : timeoutText(silence)}`,
    ...(pattern === undefined ? [] : [`Done pattern: ${pattern.pattern}`]),
    ...(owner === null ? [] : [`Owner: process ${owner}`]),
    ...(summary.window === undefined ? [] : [`Window: ${summary.window}`]),
    ...(spec.tags === undefined ? [] : [`Tags: ${spec.tags.join(', ')}`]),
    ...report.checks.map(
      ({ command, result }) =>
        `Check: ${command}: ${result.code === 0 ? 'passed' : `failed (${howItFailed(result)}) — ${result.log}`}`,
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
    ...spendLines(readable),
    ...(report.rejectedClaims === 0 ? [] : [`Rejected claims: ${report.rejectedClaims}`]),
    ...(report.commits === 0 ? [] : [`Commits: ${commitsText(summary.record)}`]),
    ...childrenNow(loop).map((child) => `Child: ${childText(child)}`),
    ...(waiting === null ? [] : [`Waiting: ${waiting}`]),
    ...state.questions.map((question) => `Question: ${questionText(question, spec.name)}`),
    ...(state.policy.sandbox === null ? [] : [capitalized(sandboxLine(state.policy.sandbox))]),
    ...(reason === null ? [] : [`Reason: ${reason}`]),
    ...(warning === undefined ? [] : [`Warning: ${warning}`]),
    ...(next === null ? [] : [`Next: ${next}`]),
    `Logs: ${homely(loop.folder.path, process.env['HOME'])}`,
  ].join('\n');
}

function time(moment: number | null): string {
  return moment === null ? '-' : localTime(moment).replace('T', ' ');
}

/** A question, and what answers it. Further lines of a text are indented, so that none looks like a line of the status. */
function questionText({ id, text, default: byDefault, until }: OpenQuestion, loop: string): string {
  const end =
    until === null ? '' : `; without an answer: "${visible(byDefault ?? '')}" at ${localTime(until)}`;
  const shown = text.split('\n').map(visible).join('\n  ');
  return `${shown} — answer with: ralph answer ${loop} "…" --question ${id}${end}`;
}

/** Cost with its source, and tokens by kind: in total and per iteration. */
function spendLines(loop: LoopReading): readonly string[] {
  const { total, iterations } = spendOf(loop);
  const charged = assumptions(loop.state);
  const { below } = familyNow(loop.spec, loop.state);
  const tokenTotal = tokensOf(total, charged.tokens, below);
  if (total.source === null && tokenTotal === null && below.usd === 0)
    return loop.report.runs === 0 ? [] : ['Cost: unknown'];
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
