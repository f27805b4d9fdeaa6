/** The pure core, for programs that drive a loop themselves (docs/library.md): re-exports only. */
export { admits } from './loop/admit.ts';
export { decide } from './loop/decide.ts';
export { evolve, fold } from './loop/evolve.ts';
export { INITIAL } from './loop/initial.ts';
export { classify, failureText } from './loop/failure.ts';
export { explain } from './loop/outcome.ts';
export { PRESET_NAMES, UNTILS } from './loop/policy.ts';
export { presets } from './loop/presets.ts';
export { renderPrompt, type PromptInputs, type PromptPlan } from './loop/prompt.ts';
export { report, type LoopReport } from './loop/report.ts';
export { openRun } from './loop/run.ts';
export { startScan, type Piece, type Scanner } from './loop/scan.ts';
export type { PatternMatch, Search, UserPattern } from './loop/pattern-matcher.ts';
export {
  describeProblem,
  findProblems,
  mergePolicy,
  resolvePolicy,
  type PolicyInput,
} from './loop/validate.ts';
export type { Detector } from './loop/completion.ts';
export type { Effect } from './loop/effect.ts';
export type { Control, Happening, LoopEvent, Tokens } from './loop/event.ts';
export type { Outcome, StopReason } from './loop/outcome.ts';
export type { Check, FailAction, Policy, PresetName, Until } from './loop/policy.ts';
export type { LoopState } from './loop/state.ts';
