/** Loops inside a session, for host programs (docs/library.md): the hook of document 004. Re-exports only. */
export { createRalphCommands, type RalphCommands } from './hook/commands.ts';
export {
  CONTINUATION_PROMPT_TEMPLATE,
  DEFAULT_COMPLETION_PROMISE,
  DEFAULT_CONFIG,
  DEFAULT_CONTINUATION_DELAY,
  DEFAULT_MAX_ITERATIONS,
  HOOK_NAME,
} from './hook/constants.ts';
export {
  buildContinuationPrompt,
  detectCompletionPromise,
  detectInMessages,
  detectInTranscript,
  type DetectorOptions,
} from './hook/detector.ts';
export type { SessionDriver, StartRequest } from './hook/driver.ts';
export { createHookWith, createRalphLoopHook } from './hook/hook.ts';
export { readMarkdownState } from './hook/markdown-state.ts';
export { createHookRegistry, getHookRegistry, type HookRegistry } from './hook/registry.ts';
export type {
  FirstMessage,
  Hook,
  HookContext,
  HookMessage,
  HookResult,
  LogDetails,
  RalphLog,
  RalphLoopConfig,
  RalphLoopHook,
  RalphLoopOptions,
  RalphLoopState,
  StartLoopOptions,
  Toast,
} from './hook/types.ts';
export type { Answer } from './session/answer.ts';
export { parseRalphArguments, type RalphArguments } from './session/arguments.ts';
export { clearState, incrementIteration, readState, writeState } from './hook/state-file.ts';
export type { StartedSession } from './session/session.ts';
export type { FinishedTurn, TurnError, TurnMessage, TurnTokens } from './session/turn.ts';
export { UserError } from './user-error.ts';
