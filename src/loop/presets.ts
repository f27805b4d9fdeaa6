/**
 * The presets as frozen data: `default`, and one for each document. A preset states only what differs from the default
 * policy (`default-policy.ts`).
 */
import { CONTINUATION_TEMPLATE } from './continuation.ts';
import { ASSISTANT_TEXT, DEFAULT_POLICY as base, DONE_FILE } from './default-policy.ts';
import { EXIT_CODES } from './outcome.ts';
import type { Policy, PresetName } from './policy.ts';
import { wordings } from './wording.ts';

export interface Preset {
  /** One phrase for lists and help. */
  readonly summary: string;
  readonly policy: Policy;
  /** Valid iteration limits; `required` where the document has no default. */
  readonly iterations: {
    readonly least: number;
    readonly most: number | null;
    readonly required: boolean;
    /** Whether a limit of 0 counts as not given. */
    readonly zeroIsUnset: boolean;
  };
  /** Where a prompt without any text is allowed, with a warning: nowhere, in a file, or in every form. */
  readonly emptyPrompts: 'nowhere' | 'in-files' | 'everywhere';
  /** Whether `ralph init` writes the names that document 001 gives to settings. */
  readonly documentedSettings?: true;
  /** Whether a time on the command line may be a number of seconds, as in document 002. */
  readonly plainSeconds?: true;
  /** Whether `ralph logs` shows the last run alone, as document 003 has it. */
  readonly logsLastRun?: true;
}

const SECOND = 1000;

/**
 * The documents have no stuck detection, no run timeouts and one exit code for all signals, and give the agent the prompt file as
 * it is now.
 */
const documented = {
  evidence: { ...base.evidence, promptFile: 'with-checks' },
  limits: { ...base.limits, unchanged: null },
  timeouts: { ...base.timeouts, runMs: null, inactivityMs: null },
  signals: { SIGINT: 'finish', SIGTERM: 'finish' },
  exitCodes: { ...EXIT_CODES, terminated: EXIT_CODES.stopped },
} as const;

export const presets: Readonly<Record<PresetName, Preset>> = freeze({
  default: {
    summary: 'verified completion, safe limits',
    policy: base,
    iterations: { least: 1, most: null, required: false, zeroIsUnset: false },
    emptyPrompts: 'nowhere',
  },

  conductor: {
    summary: 'document 000: restart the agent until the DONE file exists',
    iterations: { least: 0, most: null, required: false, zeroIsUnset: false },
    emptyPrompts: 'nowhere',
    policy: {
      ...base,
      preset: 'conductor',
      evidence: documented.evidence,
      keys: 'own',
      taskFolder: true,
      completion: {
        ...base.completion,
        detectors: [DONE_FILE],
        afterFailure: 'consider',
        staleMarkers: 'claim',
        handOver: { exitCode: 42, marker: 'WAIT_WITHOUT_RESTART', busMessage: 'wait_without_restart' },
      },
      limits: { ...documented.limits, iterations: 100, failures: null, lookedAt: 'before-next' },
      timeouts: { ...documented.timeouts, runMs: 300 * SECOND },
      delay: { ...base.delay, afterOkMs: SECOND, afterFailure: { kind: 'fixed', ms: SECOND } },
      prompt: {
        ...base.prompt,
        sections: [
          'base',
          'plan',
          'failed-checks',
          'evidence',
          'messages',
          'guidance',
          'restart-prefix',
          'preamble',
        ],
      },
      children: { waitMs: 300 * SECOND, pollMs: SECOND },
      posts: 'all',
      signals: { SIGINT: 'kill', SIGTERM: 'kill' },
      wording: wordings.conductor,
      exitCodes: { ...documented.exitCodes, waiting: 0 },
    },
  },

  'ralph-cli': {
    summary: 'document 001: guardrails, then the response tag, then commits',
    iterations: { least: 1, most: null, required: false, zeroIsUnset: true },
    emptyPrompts: 'in-files',
    documentedSettings: true,
    policy: {
      ...base,
      ...documented,
      preset: 'ralph-cli',
      calls: 'documented',
      aliases: true,
      completion: {
        ...base.completion,
        detectors: [
          {
            kind: 'response-tag',
            value: 'DONE',
            placement: 'anywhere',
            ...ASSISTANT_TEXT,
            scope: 'captured',
          },
        ],
        afterFailure: 'ignore',
      },
      checks: {
        ...base.checks,
        timeoutMs: null,
        excerpt: { side: 'head', chars: 5000, marker: '... [truncated]' },
      },
      prompt: {
        ...base.prompt,
        sections: ['base', 'plan', 'failed-checks', 'evidence', 'messages', 'guidance'],
      },
      commitMessage: 'first-line',
      wording: wordings['ralph-cli'],
    },
  },

  architect: {
    summary: 'document 002: run until the checks pass and the agent prints the completion word',
    iterations: { least: 1, most: 100, required: false, zeroIsUnset: false },
    emptyPrompts: 'nowhere',
    plainSeconds: true,
    policy: {
      ...base,
      ...documented,
      preset: 'architect',
      progressLink: true,
      completion: {
        ...base.completion,
        until: 'both',
        detectors: [
          { kind: 'word', value: 'COMPLETE', within: 'word', ...ASSISTANT_TEXT, scope: 'final-answer' },
        ],
        afterFailure: 'ignore',
      },
      checks: {
        ...base.checks,
        timeoutMs: 120 * SECOND,
        excerpt: { side: 'tail', chars: 2000, marker: '' },
        required: true,
      },
      limits: {
        ...documented.limits,
        iterations: 25,
        failures: null,
        unchangedNotice: 5,
        stopRunning: false,
      },
      delay: { ...base.delay, afterFailure: { kind: 'fixed', ms: 0 } },
      prompt: {
        ...base.prompt,
        sections: [
          'task',
          'plan',
          'instructions',
          'diff',
          'check-errors',
          'evidence',
          'execution-error',
          'progress',
          'messages',
          'guidance',
        ],
        diff: { side: 'head', chars: 5000, marker: '\n... (diff truncated)' },
      },
      worktree: { ...base.worktree, path: '.architect-ralph-worktree', branch: 'architect/ralph-loop' },
      wording: wordings.architect,
    },
  },

  swarm: {
    summary: 'document 003: a named loop until the output matches a pattern',
    iterations: { least: 1, most: null, required: true, zeroIsUnset: false },
    emptyPrompts: 'everywhere',
    logsLastRun: true,
    policy: {
      ...base,
      ...documented,
      preset: 'swarm',
      completion: { ...base.completion, detectors: [], afterFailure: 'consider' },
      limits: { ...documented.limits, iterations: null },
      timeouts: {
        ...documented.timeouts,
        inactivityMs: 60 * SECOND,
        inactivityOf: 'screen',
        inactivityIs: 'restart',
      },
      prompt: {
        ...base.prompt,
        sections: ['base', 'plan', 'failed-checks', 'evidence', 'messages', 'guidance'],
      },
      stateEdits: true,
      signals: { SIGINT: 'finish', SIGTERM: 'pause' },
      wording: wordings.swarm,
      exitCodes: {
        ...documented.exitCodes,
        'iterations-exhausted': 0,
        paused: 0,
        'prompt-lost': 1,
        'bad-input': 1,
      },
    },
  },

  promise: {
    summary: 'document 004: prompt the agent again until it keeps its promise (in one session: `/ralph`)',
    iterations: { least: 1, most: null, required: false, zeroIsUnset: false },
    emptyPrompts: 'nowhere',
    policy: {
      ...base,
      ...documented,
      preset: 'promise',
      completion: {
        ...base.completion,
        detectors: [{ kind: 'promise-tag', value: 'DONE', placement: 'anywhere', ...ASSISTANT_TEXT }],
        afterFailure: 'ignore',
      },
      limits: { ...documented.limits, iterations: 100, failures: null, repeats: 10 },
      delay: { ...base.delay, afterOkMs: 500, afterFailure: { kind: 'fixed', ms: 5 * SECOND } },
      prompt: {
        ...base.prompt,
        sections: ['base', 'continuation', 'plan', 'failed-checks', 'evidence', 'messages', 'guidance'],
        continuation: CONTINUATION_TEMPLATE,
      },
      signals: { SIGINT: 'kill', SIGTERM: 'kill' },
    },
  },
});

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  }
  return value;
}
