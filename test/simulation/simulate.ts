import type { Control, Happening, LoopEvent } from '../../src/loop/event.ts';
import type { Policy } from '../../src/loop/policy.ts';
import type { LoopState } from '../../src/loop/state.ts';
import { Crash, ToyDriver, type Interference } from '../rig/toy-driver.ts';
import { FakeWorld } from '../rig/world.ts';
import { received } from '../rig/play.ts';
import { Oracle } from './oracle.ts';
import { reopening } from './reopening.ts';
import type { Scenario } from './scenario.ts';

/** Plays one history with the toy driver, including crashes, and checks it with the oracle. */
export function simulate(scenario: Scenario): History {
  const { policy, runs, checks, changes } = scenario;
  const { stubborn, litters } = scenario;
  const world = new FakeWorld({ runs, checks, changes, stubborn, litters });
  const oracle = new Oracle(world);
  const journal: LoopEvent[] = [];
  const interference = interferenceOf(scenario, world);
  let restarts = 0;
  let reopens = scenario.reopens;
  let nudges = 0;
  let driver: ToyDriver | null = null;

  for (let lives = 0; lives < 3000; lives++) {
    try {
      driver ??= new ToyDriver(journal, world, oracle, interference);
      if (journal.length === 0) driver.append({ type: 'loop.created', name: 'simulated', policy });
      // A driver that crashed before it wrote this writes it now: no run has started yet.
      if (scenario.isWatched && driver.state.start === null) driver.append(startOf(scenario));
      const rest = driver.run();
      if (rest === 'out of steps') throw new Error('L10: the loop neither ends nor waits');
      if (rest === 'ended' && reopens-- > 0) driver.append(reopening(driver.state, reopens));
      else if (rest === 'resting') driver.control(`nudge-${nudges++}`, nudge(driver.state));
      else {
        oracle.close(driver.state, journal);
        return { journal, state: driver.state, restarts };
      }
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      restarts++;
      world.advanceTo(world.clock + scenario.downtimeMs);
      driver = null;
    }
  }
  throw new Error('L10: the history does not end');
}

export function startOf({ hasPromptFile }: Scenario): Happening {
  return { type: 'start.recorded', tree: 'a1b2', ...(hasPromptFile ? { prompt: 'PROMPT.md' } : {}) };
}

/** What a person does about a loop that does nothing by itself: answers its question, or resumes it. */
export function nudge({ control, questions }: LoopState): Control {
  return questions.length === 0 || control.paused
    ? { type: 'resume', now: false }
    : { type: 'answer', question: null, text: 'yes' };
}

export interface History {
  readonly journal: readonly LoopEvent[];
  readonly state: LoopState;
  readonly restarts: number;
}

export function interferenceOf(scenario: Scenario, world: FakeWorld): Interference {
  const {
    crashesAfter,
    crashesBefore,
    repeats,
    staleTimers,
    lateAnswers,
    operator,
    timed,
    abortsAfter,
    change,
    touches,
    children,
    questions,
  } = scenario;
  const before = new Set(crashesBefore);
  const scheduled = timed
    .map(({ atMs, control }, position) => ({
      at: world.clock + atMs,
      happening: received(`timed-${position}`, control),
    }))
    .toSorted((a, b) => a.at - b.at);
  return {
    scheduled,
    crashesAfter: (index) => (crashesAfter === 'every event' ? true : crashesAfter.includes(index)),
    crashesBefore: (index) => before.delete(index),
    repeats: (index) => repeats.includes(index),
    staleTimer: (index) => staleTimers.includes(index),
    lateAnswer: (index) =>
      lateAnswers.find(({ after, event }) => after === index && event < index)?.event ?? null,
    events(index) {
      if (touches === index) world.doneFile = true;
      const childEvents = children.flatMap(({ born, ends, again, outcome }, number): Happening[] => {
        const child = `kid-${number}`;
        const lost = outcome === null ? ({ lost: 'crashed' } as const) : {};
        const started = born === index || again === index;
        return [
          ...(started ? [{ type: 'child.started', child, run: '1.1' } as const] : []),
          ...(ends === index ? [{ type: 'child.ended', child, outcome, ...lost } as const] : []),
        ];
      });
      const asked = questions.flatMap(({ after, timeoutMs }, position): Happening[] =>
        after === index ? [question(`MSG-${position}`, timeoutMs)] : [],
      );
      const controls = operator.flatMap(({ after, control, twice }, position): Happening[] => {
        const event: Happening = { type: 'control.received', id: `operator-${position}`, control };
        return after === index || (twice && after + 3 === index) ? [event] : [];
      });
      const changes: Happening[] =
        change?.after === index
          ? [{ type: 'policy.changed', policy: changed(scenario.policy, change.policy) }]
          : [];
      const aborts = abortsAfter === index ? [received('full', DISK_FULL)] : [];
      return [...childEvents, ...asked, ...changes, ...controls, ...aborts];
    },
  };
}

/** A question that has a default if it has a timeout. */
function question(id: string, timeoutMs: number | null): Happening {
  const byDefault = timeoutMs === null ? null : 'the usual way';
  return { type: 'question.asked', id, text: 'Which way?', default: byDefault, timeoutMs };
}

const DISK_FULL = { type: 'abort', message: 'no space left on device' } as const;

function changed(policy: Policy, to: Policy | 'other checks'): Policy {
  if (to !== 'other checks') return to;
  const commands = ['types', 'lint', 'test'].map(
    (command) => ({ command, action: 'APPEND', hint: null }) as const,
  );
  return { ...policy, checks: { ...policy.checks, commands } };
}
