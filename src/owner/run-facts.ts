import type { LoopState } from '../loop/state.ts';
import type { RunFacts } from '../projections/run-info.ts';
import { runMarker, type StartedLoop } from '../store/run-environment.ts';
import { idsOf, treeOf } from '../store/spec.ts';
import { shownCommand } from './agent-host.ts';

/** What the records of a loop's runs say that its journal does not. */
export function runFacts(loop: StartedLoop, state: LoopState): RunFacts {
  const { spec } = loop;
  return {
    ids: { ...idsOf(spec), parent: spec.parent?.run ?? '' },
    idOf: (run) => runMarker(spec, run).value,
    agent: spec.agent.kind,
    cwd: treeOf(spec),
    commandline: shownCommand(loop, state),
  };
}
