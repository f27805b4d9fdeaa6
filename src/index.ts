/** The public library: re-exports only. */
export { createLoop, resumeLoop, runLoop, type ResumeSpec } from './library/library.ts';
export {
  ArchitectLoop,
  type AgentFactory,
  type ArchitectAgent,
  type ArchitectEvent,
  type ArchitectOptions,
  type FactoryOptions,
  type RalphConfig,
} from './library/architect-loop.ts';
export {
  RalphLoop,
  type BusMessage,
  type MessageBus,
  type RalphLoopOptions,
  type RootRunner,
} from './library/ralph-loop.ts';
export type { Loop } from './library/loop.ts';
export type {
  CommandAgent,
  FunctionAgent,
  LoopAgent,
  LoopCheck,
  LoopSettings,
  LoopSpec,
  NamedAgent,
} from './library/loop-spec.ts';
export type { AgentContext, AgentFunction, AgentReport, AgentResult } from './library/function-agent.ts';
export type { LoopIteration, LoopResult } from './views/loop-result.ts';
export type { SeenEvent } from './library/recent-events.ts';
export { UserError } from './user-error.ts';
export type { Check, FailAction, Policy, PresetName, Until } from './loop/policy.ts';
export type { AgentEvent } from './agents/agent.ts';
export type { Detector } from './loop/completion.ts';
export type { Effect } from './loop/effect.ts';
export type { Control, Happening, LoopEvent, Tokens } from './loop/event.ts';
export type { Outcome, StopReason } from './loop/outcome.ts';
export type { LoopState } from './loop/state.ts';
export { admits } from './loop/admit.ts';
export { decide } from './loop/decide.ts';
export { accepts, evolve, fold, INITIAL } from './loop/evolve.ts';
export { classify, failureText } from './loop/failure.ts';
export { waitAfter } from './loop/limits.ts';
export { explain } from './loop/outcome.ts';
export { PRESET_NAMES, UNTILS } from './loop/policy.ts';
export { presets } from './loop/presets.ts';
export { renderPrompt, type PromptInputs, type PromptPlan } from './loop/prompt.ts';
export { openRun } from './loop/run.ts';
export { splitWords } from './loop/words.ts';
export { report, type LoopReport } from './loop/report.ts';
export { startScan, type Piece, type Scanner } from './loop/scan.ts';
export {
  describeProblem,
  findProblems,
  mergePolicy,
  resolvePolicy,
  type PolicyInput,
} from './loop/validate.ts';
