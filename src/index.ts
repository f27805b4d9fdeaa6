/** The public library (docs/library.md): re-exports only. The core is in `core.ts`. */
export { createLoop, resumeLoop, runLoop, type ResumeSpec } from './library/library.ts';
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
export type { LoopIteration, LoopResult } from './loops/result.ts';
export type { SeenEvent } from './library/recent-events.ts';
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
export { fileBus, type FileBus } from './library/file-bus.ts';
export { UserError } from './user-error.ts';
export type { AgentSettings, ScmSettings, Size, Time } from './settings/settings.ts';
export type { AgentEvent, TodoItem } from './agents/agent.ts';
export type { LoopEvent, Tokens } from './loop/event.ts';
export type { Outcome, StopReason } from './loop/outcome.ts';
export type { FailAction, Policy, PresetName, Until } from './loop/policy.ts';
export type { LoopState } from './loop/state.ts';
export type { PolicyInput } from './loop/validate.ts';
