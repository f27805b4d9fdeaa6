import * as fc from 'fast-check';
import type { Policy, PresetName } from '../../src/loop/policy.ts';
import { FLOOD_BYTES } from '../rig/fake-host.ts';
import type { RunScript } from '../rig/world.ts';
import { policyOf, scenario, type Scenario } from './scenario.ts';

/** A scenario with faults that only the engine can have. */
export interface EngineScenario extends Scenario {
  /** The run whose prompt cannot be written. */
  readonly promptLostAt: string | null;
  /** How long after the beginning the usage limit resets that another loop of the account hit. */
  readonly limitedForMs: number | null;
  /** After this event the disk is full, until the process restarts. */
  readonly diskFullAfter: number | null;
  /** The number of the effect in which an unexpected error occurs. */
  readonly troubleAt: number | null;
  /** The events after which the owner leaves, and another one takes over. */
  readonly leavesAfter: readonly number[];
  /** The same in the middle of an effect: whenever time has to pass for the how-manieth time. */
  readonly leavesDuring: readonly number[];
}

/** In one of ten histories. */
function rarely<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

const leaves = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }) },
);

export const engineScenario: fc.Arbitrary<EngineScenario> = fc
  .record({
    drawn: scenario,
    lingers: fc.option(fc.nat({ max: 5 }), { freq: 2 }),
    promptLostAt: rarely(fc.constantFrom('1.1', '1.2', '2.1', '3.1')),
    limitedForMs: rarely(fc.constantFrom(1, 5000, 700_000)),
    diskFullAfter: rarely(fc.integer({ min: 1, max: 70 })),
    troubleAt: rarely(fc.integer({ min: 1, max: 30 })),
    leavesAfter: leaves,
    leavesDuring: leaves,
  })
  .map(({ drawn, lingers, ...more }) => ({
    ...drawn,
    ...more,
    // The engine aborts itself, because of `troubleAt`.
    abortsAfter: null,
    policy: withReach(drawn.policy),
    change:
      drawn.change === null || drawn.change.policy === 'other checks'
        ? drawn.change
        : { ...drawn.change, policy: withReach(drawn.change.policy) },
    runs: drawn.runs.map((script, index) =>
      index === lingers && index < drawn.runs.length - 1 ? lingering(script) : withRealSilence(script),
    ),
  }));

/** The same with a policy of one preset. */
export function scenarioOf(preset: PresetName): fc.Arbitrary<EngineScenario> {
  return fc
    .record({ drawn: engineScenario, policy: policyOf([preset]) })
    .map(({ drawn, policy }) => ({ ...drawn, policy: withReach(policy), change: null }));
}

/**
 * Limits that the agents of these histories can reach. The inactivity timeout ends one millisecond before an agent of 90 s
 * prints again: while the driver looks for changed files, the output arrives or the agent exits.
 */
function withReach(policy: Policy): Policy {
  const { inactivityMs } = policy.timeouts;
  return {
    ...policy,
    limits: { ...policy.limits, outputBytes: FLOOD_BYTES },
    timeouts: { ...policy.timeouts, inactivityMs: inactivityMs === null ? null : 44_999 },
  };
}

/** An agent that reports its end and does not exit. */
function lingering(script: RunScript): RunScript {
  if (script.ending.how !== 'exited' || script.ms === Number.POSITIVE_INFINITY)
    return withRealSilence(script);
  return silent({ ...script, output: { ...script.output, said: script.output?.said ?? 'success' } });
}

/** The toy driver just writes an inactivity timeout; here the agent must be inactive. */
function withRealSilence(script: RunScript): RunScript {
  const { ending } = script;
  return ending.how === 'timed-out' && ending.which === 'inactivity' ? silent(script) : script;
}

function silent(script: RunScript): RunScript {
  return { ...script, ms: Number.POSITIVE_INFINITY, quietAfterMs: script.ms };
}
