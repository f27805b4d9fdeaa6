import type { RalphLog } from '../session/log.ts';
import { CONTINUATION_TEMPLATE } from '../loop/continuation.ts';
import type { RalphLoopConfig } from './types.ts';

export const HOOK_NAME = 'ralph-loop';

export const DEFAULT_MAX_ITERATIONS = 100;
export const DEFAULT_COMPLETION_PROMISE = 'DONE';
/** In milliseconds. */
export const DEFAULT_CONTINUATION_DELAY = 500;

export const DEFAULT_CONFIG: RalphLoopConfig = {
  enabled: true,
  defaultMaxIterations: DEFAULT_MAX_ITERATIONS,
  defaultCompletionPromise: DEFAULT_COMPLETION_PROMISE,
  continuationDelay: DEFAULT_CONTINUATION_DELAY,
};

export const CONTINUATION_PROMPT_TEMPLATE: string = CONTINUATION_TEMPLATE;

/** Idle events are ignored for so many milliseconds after the last error. */
export const RECOVERY_TIME = 5000;

/** Checks that take longer, in milliseconds, are announced. */
export const CHECKS_NOTE_DELAY = 1000;

/** How many milliseconds the messages of a session may take. */
export const MESSAGES_TIMEOUT = 3000;

/** Warnings and errors only: the terminal belongs to the host program. */
export const CONSOLE_LOG: RalphLog = {
  info() {},
  warn(message, details) {
    // oxlint-disable-next-line no-console -- what a program without a logger sees
    console.warn(...(details === undefined ? [message] : [message, details]));
  },
  error(message, details) {
    // oxlint-disable-next-line no-console -- what a program without a logger sees
    console.error(...(details === undefined ? [message] : [message, details]));
  },
};
