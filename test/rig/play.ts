import type { Control, Happening, LoopEvent } from '../../src/loop/event.ts';
import type { Effect } from '../../src/loop/effect.ts';
import type { Outcome } from '../../src/loop/outcome.ts';
import type { Policy } from '../../src/loop/policy.ts';
import type { LoopState } from '../../src/loop/state.ts';
import { describeProblem, resolvePolicy, type PolicyInput } from '../../src/loop/validate.ts';
import { ToyDriver } from './toy-driver.ts';
import { FakeWorld, type WorldScript } from './world.ts';

/** A valid policy; throws if it is not. */
export function policyOf(input: PolicyInput): Policy {
  const resolution = resolvePolicy(input);
  if (!resolution.ok) throw new Error(resolution.problems.map(describeProblem).join('; '));
  return resolution.policy;
}

export interface Tale {
  readonly journal: readonly LoopEvent[];
  readonly state: LoopState;
  readonly outcome: Outcome | null;
  /** Runs whose process was started. */
  readonly runs: readonly string[];
  /** Lengths of the waits in milliseconds. */
  readonly waits: readonly number[];
  readonly world: FakeWorld;
  readonly exitCode: number;
  /** Continues with a control, e.g. after a pause. */
  readonly more: (control: Control) => Tale;
  readonly started: readonly Effect[];
}

/**
 * Plays a whole loop with the toy driver. `controls` arrive right after an event or at a fixed time; `before` is the
 * journal of an earlier owner that crashed.
 */
export function play(
  input: PolicyInput,
  script: Partial<WorldScript> & { world?: (world: FakeWorld) => void; start?: boolean },
  controls: Moments = [],
  before: readonly LoopEvent[] = [],
): Tale {
  const world = new FakeWorld({
    runs: script.runs ?? [],
    checks: script.checks ?? [0],
    ...(script.problem === undefined ? {} : { problem: script.problem }),
    ...(script.changes === undefined ? {} : { changes: script.changes }),
    ...(script.stubborn === undefined ? {} : { stubborn: script.stubborn }),
  });
  script.world?.(world);
  const journal: LoopEvent[] = [...before];
  const started: Effect[] = [];
  const waits: number[] = [];
  const due = [...controls];
  const driver = new ToyDriver(
    journal,
    world,
    {
      started(effect) {
        started.push(effect);
        if (effect.type === 'wait' && effect.until !== null) waits.push(effect.until - world.clock);
      },
    },
    {
      scheduled: controls
        .flatMap(({ atMs, control, event }, position) =>
          atMs === undefined
            ? []
            : [
                ...(control === undefined ? [] : [received(`t${position}`, control)]),
                ...(event === undefined ? [] : [event]),
              ].map((happening) => ({ at: 1_000_000 + atMs, happening })),
        )
        .toSorted((a, b) => a.at - b.at),
      events(index) {
        const last = journal.at(-1);
        const now = due.filter((moment) => last !== undefined && moment.after?.(last) === true);
        for (const moment of now) due.splice(due.indexOf(moment), 1);
        for (const moment of now) moment.world?.(world);
        return now.flatMap(({ event, control }, position) => [
          ...(event === undefined ? [] : [event]),
          ...(control === undefined ? [] : [received(`c${index}.${position}`, control)]),
        ]);
      },
    },
  );
  if (before.length === 0) driver.append({ type: 'loop.created', name: 'tale', policy: policyOf(input) });
  if (script.start === true) driver.append({ type: 'start.recorded', tree: 'a1b2' });

  const tell = (): Tale => {
    driver.run();
    const { state } = driver;
    return {
      journal: [...journal],
      state,
      outcome: state.outcome,
      runs: [...world.processes.keys()],
      waits: [...waits],
      world,
      started: [...started],
      exitCode: state.policy.exitCodes[state.outcome?.type ?? 'paused'],
      more(control) {
        driver.control(`more-${journal.length}`, control);
        return tell();
      },
    };
  };
  return tell();
}

export function received(id: string, control: Control): Happening {
  return { type: 'control.received', id, control };
}

/** What happens from outside: right after an event, or at a time. */
export type Moments = readonly {
  readonly after?: (event: LoopEvent) => boolean;
  /** Milliseconds after the beginning, whatever is in progress then. */
  readonly atMs?: number;
  readonly control?: Control;
  readonly event?: Happening;
  readonly world?: (world: FakeWorld) => void;
}[];

/** Matches the n-th event of a type. */
export function nth(type: LoopEvent['type'], n = 1): (event: LoopEvent) => boolean {
  let seen = 0;
  return (event) => event.type === type && ++seen === n;
}
