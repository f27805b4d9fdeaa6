import type { Detector, TextSource } from './completion.ts';
import { EXIT_CODES } from './outcome.ts';
import type { Policy } from './policy.ts';
import { wordings } from './wording.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export const ASSISTANT_TEXT: TextSource = { scope: 'assistant-text', phase: 'after', history: 'loop' };
export const DONE_FILE: Detector = { kind: 'marker', file: 'DONE', phases: ['before', 'after'] };

/** The policy of the preset `default`; the other presets override parts of it. */
export const DEFAULT_POLICY: Policy = {
  preset: 'default',
  host: 'process',
  keys: 'all',
  calls: 'autonomous',
  aliases: false,
  progressLink: false,
  taskFolder: false,
  sandbox: null,
  completion: {
    until: 'claim',
    detectors: [
      { kind: 'promise-tag', value: 'DONE', placement: 'own-line', ...ASSISTANT_TEXT },
      { kind: 'response-tag', value: 'DONE', placement: 'own-line', ...ASSISTANT_TEXT },
      DONE_FILE,
    ],
    afterFailure: 'checks',
    handOver: { exitCode: null, marker: null, busMessage: null },
    staleMarkers: 'move-aside',
  },
  checks: {
    commands: [],
    timeoutMs: 10 * MINUTE,
    excerpt: { side: 'failures', chars: 5000, marker: '[truncated] ...\n' },
    required: false,
    baseline: false,
  },
  plan: null,
  evidence: { protect: [], onProtectedChange: 'warn', promptFile: 'always' },
  limits: {
    iterations: 10,
    timeMs: null,
    costUsd: null,
    tokens: null,
    failures: 5,
    limitWaits: null,
    attemptsPerItem: null,
    outputBytes: 2 ** 30,
    unchanged: { nudge: 3, end: 5 },
    unchangedNotice: null,
    repeats: null,
    lookedAt: 'after-iteration',
    stopRunning: true,
  },
  timeouts: {
    runMs: 2 * HOUR,
    inactivityMs: 20 * MINUTE,
    inactivityOf: 'output',
    inactivityIs: 'failure',
    killGraceMs: 5 * SECOND,
    readyMs: 2 * MINUTE,
  },
  delay: {
    afterOkMs: 0,
    afterFailure: { kind: 'backoff', capMs: 300 * SECOND },
    usageLimitLadderMs: [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE],
  },
  prompt: {
    sections: ['base', 'plan', 'failed-checks', 'evidence', 'messages', 'guidance', 'nudge', 'how-to-claim'],
    diff: { side: 'head', chars: null, marker: '' },
    continuation: null,
  },
  commit: null,
  commitMessage: 'paragraphs',
  worktree: {
    path: '../{repository}-worktrees/{name}',
    branch: 'ralph/{name}',
    setup: [],
    setupTimeoutMs: 30 * MINUTE,
  },
  keepAwake: true,
  checkpoint: true,
  checkpointMaxFile: 100 * 2 ** 20,
  checkpointMaxTotal: 500 * 2 ** 20,
  children: null,
  childLimits: { maxDepth: 3, maxActive: 8 },
  stateEdits: false,
  posts: 'people',
  // `timeout`, CI systems and service managers send SIGTERM and do not wait long.
  signals: { SIGINT: 'finish', SIGTERM: 'kill' },
  wording: wordings.default,
  exitCodes: EXIT_CODES,
};
