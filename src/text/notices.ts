/** What notices say: the same words and facts for every way on which they are sent. */
import { counted, duration, ofLimit } from '../loop/counted.ts';
import { nearedText } from '../loop/limit-use.ts';
import { isUrgent, type Notice, type NoticeKind } from '../loop/notice.ts';
import { explain } from '../loop/outcome.ts';
import type { NoticeTrouble } from '../loops/summary.ts';
import { visible } from './one-line.ts';
import { clockTime, localTime } from './times.ts';
import { waitText } from './waits.ts';

/** A notice as it is sent, and the body of a webhook. */
export interface ToldNotice {
  /** The id of the loop, the number of the event in its journal and the kind: a notice that arrives twice has it twice. */
  readonly id: string;
  readonly event: NoticeKind | 'test';
  readonly urgent: boolean;
  readonly loop: string;
  readonly loopId: string;
  readonly workspace: string;
  /** When it happened, in UTC. */
  readonly at: string;
  readonly iteration: number;
  readonly iterationLimit: number | null;
  /** In dollars; null if it is unknown. */
  readonly cost: number | null;
  readonly title: string;
  readonly text: string;
  /** What an agent asks; absent for every other notice. */
  readonly question?: string;
  /** The command that answers it, or that comes next; null if none does. */
  readonly command: string | null;
}

/** What a notice has to say about its loop. */
export interface ToldLoop {
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
}

/** The words of a notice. */
export function toldNotice({ id, name, workspace }: ToldLoop, notice: Notice): ToldNotice {
  const { kind, number, at, state } = notice;
  const { spent, policy, iteration, questions } = state;
  const words = WORDS[kind];
  const [question] = kind === 'person.needed' && state.outcome === null ? questions : [];
  return {
    id: `${id}.${number}.${kind}`,
    event: kind,
    urgent: isUrgent(kind),
    loop: name,
    loopId: id,
    workspace,
    at: new Date(at).toISOString(),
    iteration,
    iterationLimit: policy.limits.iterations,
    cost: spent.source === null ? null : spent.usd,
    title: `${name}: ${words.title}`,
    text: words.text(notice),
    ...(question === undefined ? {} : { question: question.text }),
    command:
      question === undefined
        ? (words.command?.(name) ?? null)
        : `ralph answer ${name} "…" --question ${question.id}`,
  };
}

/** What `ralph notify test` sends. */
export function testNotice(workspace: string, at: number): ToldNotice {
  return {
    id: `test.${at}`,
    event: 'test',
    urgent: false,
    loop: 'test',
    loopId: 'test',
    workspace,
    at: new Date(at).toISOString(),
    iteration: 0,
    iterationLimit: null,
    cost: null,
    title: 'Ralph: test',
    text: 'Notices of your loops arrive here.',
    command: null,
  };
}

/** How a kind of notice is told. */
interface Words {
  readonly title: string;
  readonly text: (notice: Notice) => string;
  /** The command that comes next; absent after a loop that goes on by itself. */
  readonly command?: (name: string) => string;
}

const resume = (name: string): string => `ralph resume ${name}`;
const status = (name: string): string => `ralph status ${name}`;
const diff = (name: string): string => `ralph diff ${name}`;

/** One row per kind. */
const WORDS: Readonly<Record<NoticeKind, Words>> = {
  'iteration.ended': {
    title: 'iteration ended',
    text: ({ about, state: { policy } }) =>
      `iteration ${ofLimit(Number(about), policy.limits.iterations)} ended`,
  },
  'limit.neared': {
    title: '80 % of a limit used',
    text: ({ event, state: { iteration, policy } }) =>
      event?.type === 'limit.neared'
        ? nearedText(event)
        : `${iteration - 1} of ${policy.limits.iterations} iterations used`,
  },
  'usage-limit.waiting': {
    title: 'waiting for a usage limit',
    text: ({ state }) => waitText(state) ?? 'waiting for the usage limit to reset',
    command: status,
  },
  'person.needed': { title: 'waiting for you', text: questionText, command: resume },
  'login.expired': { title: 'login expired', text: endText, command: resume },
  'limit.reached': { title: 'limit reached', text: endText, command: status },
  'loop.stuck': { title: 'stuck', text: endText, command: status },
  'loop.failed': { title: 'failed', text: endText, command: status },
  'loop.done': { title: 'done', text: endText, command: diff },
  'loop.set-aside': { title: 'set aside', text: ({ about }) => about, command: resume },
};

function questionText({ at, state: { outcome, questions } }: Notice): string {
  const [question] = questions;
  if (outcome !== null || question === undefined) return 'the agent asked to wait for a person';
  const { until, default: byDefault } = question;
  const end = until === null ? '' : ` (without an answer by ${clockTime(until, at)}: "${byDefault ?? ''}")`;
  return `${question.text}${end}`;
}

function endText({ at, state: { outcome, policy, iteration, activeMs } }: Notice): string {
  const after = `after ${counted(iteration, 'iteration')} and ${duration(activeMs, ' ')}`;
  if (outcome === null) return after;
  return `${explain(outcome, policy, (moment) => clockTime(moment, at))}, ${after}`;
}

/** A notice as lines for a screen: its title, what happened, and the command that comes next with the folder to call it in. */
export function linesOf({ title, text, command, workspace }: ToldNotice): readonly [string, ...string[]] {
  const lines = text
    .split('\n')
    .slice(0, MAX_LINES)
    .map((line) => cut(visible(line)));
  return [visible(title), ...lines, ...(command === null ? [] : [visible(`${command}   (in ${workspace})`)])];
}

function cut(line: string): string {
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1)}…` : line;
}

/** Servers and desktops take little text; `command` and webhooks get all of it. */
const MAX_LINE = 500;
const MAX_LINES = 5;

/** A place where notices do not arrive: `ops: HTTP 500 since 2026-02-05 12:00:00, 2 notices waiting`. */
export function troubleText({ to, why, at, waiting, lost }: NoticeTrouble): string {
  const since = localTime(at).replace('T', ' ');
  const left = waiting === 0 ? '' : `, ${counted(waiting, 'notice')} waiting`;
  return lost === undefined
    ? `${to}: ${why}, since ${since}${left}`
    : `${to}: ${why}, at ${since}; ${lost} was given up${left}`;
}
