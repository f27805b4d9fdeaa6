/** Loops inside a session, for host programs (docs/library.md): the hook of document 004. Re-exports only. */
export { createRalphCommands, type RalphCommands } from './session/hook/commands.ts';
export {
  CONTINUATION_PROMPT_TEMPLATE,
  DEFAULT_COMPLETION_PROMISE,
  DEFAULT_CONFIG,
  DEFAULT_CONTINUATION_DELAY,
  DEFAULT_MAX_ITERATIONS,
  HOOK_NAME,
} from './session/hook/constants.ts';
export {
  buildContinuationPrompt,
  detectCompletionPromise,
  detectInMessages,
  detectInTranscript,
  type DetectorOptions,
} from './session/hook/detector.ts';
export type { SessionDriver, StartRequest } from './session/hook/driver.ts';
export { createHookWith, createRalphLoopHook } from './session/hook/hook.ts';
export { readMarkdownState } from './session/hook/markdown-state.ts';
export { createHookRegistry, getHookRegistry, type HookRegistry } from './session/hook/registry.ts';
export type {
  FirstMessage,
  Hook,
  HookContext,
  HookMessage,
  HookResult,
  RalphLoopConfig,
  RalphLoopHook,
  RalphLoopOptions,
  StartLoopOptions,
  Toast,
} from './session/hook/types.ts';
export type { LogDetails, RalphLog } from './session/log.ts';
export type { RalphLoopState } from './session/session-file.ts';
export type { Answer } from './session/answer.ts';
export { parseRalphArguments, type RalphArguments } from './session/arguments.ts';
export { clearState, incrementIteration, readState, writeState } from './session/session-file.ts';
export type { StartedSession } from './session/session.ts';
export type { FinishedTurn, TurnError, TurnMessage, TurnTokens } from './session/turn.ts';
export { UserError } from './user-error.ts';
