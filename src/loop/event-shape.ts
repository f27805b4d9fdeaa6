/**
 * The shape of every event, for journals that are read from disk.
 *
 * 1. An event of this shape, in any order, never makes the fold or a view fail.
 * 2. Fields that this version does not know are allowed.
 */
import { PHASES } from './completion.ts';
import { DEFAULT_POLICY } from './default-policy.ts';
import {
  CHILD_LOSSES,
  type Control,
  type Happening,
  type LoopEvent,
  type RunClass,
  type RunEnding,
} from './event.ts';
import { NEARED_LIMITS } from './limit-notices.ts';
import type { Outcome } from './outcome.ts';
import type { LimitsPolicy, Policy } from './policy.ts';
import {
  fields,
  fits,
  flag,
  isRecord,
  list,
  moment,
  nullable,
  oneOf,
  optional,
  rule,
  string,
  variant,
  whole,
  type Rule,
} from './shape.ts';

/** Whether a value is an event. */
export function isEvent(value: unknown): value is LoopEvent {
  return fits(AT, value) && fits(EVENT, value);
}

const AT = fields({ at: moment });
const number = rule('a number', (value) => typeof value === 'number' && Number.isFinite(value));
const count = whole(0);
const iteration = count;
const run = string;
const ofRun = { iteration, run: nullable(string) };
const strings = list(string);
const error = nullable(string);
const texts = rule(
  'an object of strings',
  (value) => isRecord(value) && Object.values(value).every((text) => typeof text === 'string'),
);

const tokens = fields({ input: number, output: number, cacheRead: number, cacheWrite: number });
const cost = fields({ usd: number, source: oneOf(['reported', 'estimated']) });
const claim = fields({ by: string, text: string });
const runError = fields({ kind: string, message: string });

const ending = variant('how', {
  exited: fields({ code: nullable(number), error: nullable(runError) }),
  'timed-out': fields({
    which: oneOf(['wall', 'inactivity', 'output', 'total']),
    unanswered: optional(flag),
    code: optional(number),
  }),
  interrupted: fields({}),
  'not-started': fields({ error: runError }),
} satisfies Record<RunEnding['how'], Rule>);

const RUN_CLASSES: Readonly<Record<RunClass, true>> = {
  ok: true,
  failure: true,
  'usage-limit': true,
  outage: true,
  wait: true,
  fatal: true,
  restart: true,
  interrupted: true,
};

const limit = optional(nullable(number));
const limits = fields({
  iterations: limit,
  timeMs: limit,
  costUsd: limit,
  tokens: limit,
  failures: limit,
  limitWaits: limit,
  attemptsPerItem: limit,
  outputBytes: limit,
  unchanged: optional(nullable(fields({ nudge: limit, end: number }))),
  unchangedNotice: limit,
  repeats: limit,
  lookedAt: optional(string),
  stopRunning: optional(flag),
} satisfies Record<keyof LimitsPolicy, Rule>);

const control = variant('type', {
  pause: fields({}),
  resume: fields({ now: flag }),
  stop: fields({ now: flag, by: oneOf(['signal', 'person', 'deadline']) }),
  signal: fields({ signal: oneOf(['SIGINT', 'SIGTERM']) }),
  tell: fields({ text: string }),
  answer: fields({ question: nullable(string), text: string }),
  abort: fields({ message: string, as: optional(oneOf(['bad-input'])) }),
  set: fields({ limits }),
} satisfies Record<Control['type'], Rule>);

const usedSums = { usd: number, tokens: number };
const family = optional(fields({ id: string, name: string }));
const spent = { assumedRuns: optional(count), family };
const message = fields({ message: string });
const outcome = variant('type', {
  done: fields({ verified: flag, childrenLeft: strings }),
  waiting: fields({}),
  'iterations-exhausted': fields({ limit: number }),
  'time-exhausted': fields({ limitMs: number, resetsAt: optional(nullable(moment)), family }),
  'cost-exhausted': fields({ limitUsd: number, spentUsd: nullable(number), ...spent }),
  'tokens-exhausted': fields({ limit: number, spent: nullable(number), ...spent }),
  'failures-exhausted': fields({
    failures: number,
    outages: optional(flag),
    unanswered: optional(flag),
  }),
  'limit-waits-exhausted': fields({ waits: number, resetsAt: nullable(moment) }),
  stuck: fields({
    unchanged: number,
    sameAnswer: optional(flag),
    blocked: optional(strings),
    moreBlocked: optional(count),
  }),
  'prompt-lost': message,
  'bad-input': message,
  fatal: message,
  stopped: fields({
    by: oneOf(['signal', 'person', 'deadline']),
    signal: optional(oneOf(['SIGINT', 'SIGTERM'])),
  }),
} satisfies Record<Outcome['type'], Rule>);

const policy = rule(
  'a policy',
  (value) => isRecord(value) && isLike(value, WHOLE_POLICY) && fits(LISTS_OF_POLICY, value),
);

/** The default policy with the parts that it lacks. */
const WHOLE_POLICY: Policy = {
  ...DEFAULT_POLICY,
  limits: { ...DEFAULT_POLICY.limits, unchanged: { nudge: null, end: 1 } },
  commit: { command: 'git commit', tasks: [], message: 'plain', timeoutMs: null },
  children: { waitMs: 1, pollMs: 1 },
  plan: { file: 'PLAN.md' },
  sandbox: { checks: false, write: [], hide: [], network: true },
};
const MAY_LACK: ReadonlySet<string> = new Set(['unchanged', 'commit', 'children', 'sandbox', 'plan']);

const phases = list(oneOf(PHASES));
const LISTS_OF_POLICY = fields({
  completion: fields({ detectors: list(fields({ kind: string, phases: optional(phases) })) }),
  checks: fields({ commands: list(fields({ command: string, action: string, hint: nullable(string) })) }),
});

/** Only its structure. */
function isLike(value: unknown, sample: unknown, name = ''): boolean {
  if (sample === null) return true;
  if (Array.isArray(sample)) return Array.isArray(value);
  // Other fields depend on the kind.
  if (isRecord(sample) && 'kind' in sample) return isRecord(value) && typeof value['kind'] === 'string';
  if (isRecord(sample) && value === null) return MAY_LACK.has(name);
  if (isRecord(sample) && isRecord(value))
    return Object.keys(sample).every((key) => key in value && isLike(value[key], sample[key], key));
  return !isRecord(sample) && !isRecord(value) && !Array.isArray(value);
}

const plan = fields({
  done: count,
  total: count,
  missing: count,
  next: nullable(fields({ name: string, within: strings, details: string, key: optional(string) })),
  blocked: optional(strings),
  moreBlocked: optional(count),
  finished: optional(strings),
  ticked: strings,
  moreTicked: count,
  changed: nullable(flag),
  problem: error,
});

const EVENT = variant('type', {
  'loop.created': fields({ name: string, policy, left: optional(flag) }),
  'policy.changed': fields({ policy }),
  'owner.changed': fields({ owner: string, agentGone: optional(flag) }),
  'owner.left': fields({}),
  'iteration.started': fields({ iteration }),
  'run.planned': fields({
    run,
    purpose: oneOf(['work', 'commit-message']),
    guidance: strings,
    prompt: nullable(fields({ path: string, hash: string, base: string, messagesUpTo: optional(string) })),
  }),
  'run.started': fields({
    run,
    receipt: fields({ pid: count, startTime: string, bootId: string, pidNamespace: string }),
  }),
  'run.output': fields({
    run,
    offset: number,
    complained: optional(count),
    session: optional(string),
    unknown: optional(count),
    tokens: nullable(tokens),
    cost: nullable(cost),
    outputEstimated: optional(flag),
    steps: count,
    said: nullable(oneOf(['success', 'error'])),
    claim: nullable(claim),
    claimEndsRun: flag,
    nearMiss: optional(
      fields({ tag: string, where: oneOf(['text', 'code', 'quotation', 'earlier-message']) }),
    ),
    limit: nullable(fields({ resetsAt: nullable(moment), message: string })),
    answer: optional(string),
  }),
  'run.ended': fields({
    run,
    ending,
    as: oneOf(Object.keys(RUN_CLASSES)),
    jitter: number,
    strays: optional(list(fields({ pid: count, command: string }))),
  }),
  'checks.started': fields(ofRun),
  'check.finished': fields({
    ...ofRun,
    index: count,
    command: string,
    result: fields({ code: nullable(number), timedOut: flag, durationMs: number, log: string }),
  }),
  'probe.finished': fields({
    key: string,
    phase: oneOf(PHASES),
    markers: strings,
    problem: error,
    messages: strings,
    messagesUpTo: optional(string),
    fingerprint: nullable(string),
    childrenProblem: optional(string),
    plan: optional(plan),
  }),
  'start.recorded': fields({
    tree: string,
    branch: optional(nullable(string)),
    files: optional(string),
    folder: optional(string),
    prompt: optional(string),
    exact: optional(texts),
  }),
  'evidence.examined': fields({
    key: string,
    changed: list(
      fields({
        path: string,
        how: oneOf(['changed', 'deleted']),
        as: oneOf(['prompt', 'protected', 'check', 'test']),
        part: optional(string),
      }),
    ),
    more: count,
    protected: count,
    problem: error,
  }),
  'evidence.restored': fields({
    key: string,
    restored: strings,
    more: count,
    failed: list(fields({ path: string, reason: string })),
    moreFailed: count,
  }),
  'claim.made': fields({ ...ofRun, claim }),
  'claim.accepted': fields({ ...ofRun, verified: flag }),
  'claim.rejected': fields({
    ...ofRun,
    failed: strings,
    because: optional(oneOf(['run-failed', 'protected-change'])),
    files: optional(strings),
  }),
  'changes.found': fields({ iteration, any: flag, committed: optional(flag), error }),
  'commit.made': fields({
    iteration,
    commit: nullable(string),
    done: strings,
    error,
    branch: optional(nullable(string)),
  }),
  'checkpoint.taken': fields({
    iteration,
    ref: nullable(string),
    error,
    tree: optional(string),
    fingerprint: optional(string),
  }),
  'limit.shared': fields({ resetsAt: moment, message: string, jitter: number }),
  'limit.neared': fields({ limit: oneOf(NEARED_LIMITS), used: number, of: number }),
  'unchanged.noticed': fields({ unchanged: count }),
  'family.counted': fields({
    below: fields({ loops: count, ...usedSums }),
    above: list(
      fields({
        id: string,
        name: string,
        limits: fields({
          usd: nullable(number),
          tokens: nullable(number),
          timeMs: nullable(number),
          until: nullable(number),
        }),
        others: fields(usedSums),
        uncharged: fields({ usd: nullable(count), tokens: nullable(count) }),
      }),
    ),
  }),
  'timer.fired': fields({ key: string }),
  'child.started': fields({ child: string, run: optional(string), record: optional(flag) }),
  'child.ended': fields({
    child: string,
    outcome: optional(nullable(outcome)),
    lost: optional(oneOf(CHILD_LOSSES)),
  }),
  'question.asked': fields({
    id: string,
    text: string,
    default: nullable(string),
    timeoutMs: nullable(number),
  }),
  'control.received': fields({ id: string, control }),
  'loop.ended': fields({ outcome }),
  'loop.reopened': fields({
    policy: nullable(policy),
    because: optional(oneOf(['unconfirmed-end'])),
  }),
} satisfies Record<Happening['type'], Rule>);
