import { CONTINUATION_TEMPLATE } from '../../loop/continuation.ts';
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
