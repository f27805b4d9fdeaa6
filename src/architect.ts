/** `ralph-until-done/architect`: the loop of document 002 under the names of that document. */
export {
  ArchitectLoop as RalphLoop,
  type AgentFactory,
  type ArchitectAgent,
  type ArchitectEvent,
  type ArchitectOptions,
  type FactoryOptions,
  type RalphConfig,
} from './library/architect-loop.ts';
export type { LoopIteration, LoopResult as RalphLoopResult } from './loops/result.ts';
export { UserError } from './user-error.ts';
