import { describe, expect, it } from 'vitest';
import type { RunEnding } from '../../src/loop/event.ts';
import { decide } from '../../src/loop/decide.ts';
import { accepts, evolve, fold, INITIAL } from '../../src/loop/evolve.ts';
import { endedStatus } from '../../src/loop/outcome.ts';
import { presets } from '../../src/loop/presets.ts';
import { renderPrompt } from '../../src/loop/prompt.ts';
import { startScan } from '../../src/loop/scan.ts';
import { describeProblem, resolvePolicy } from '../../src/loop/validate.ts';
import { nth, play } from '../rig/play.ts';
import { claims, exits, hangs } from '../rig/world.ts';

const swarm = (iterations = 10, more: object = {}) => ({ preset: 'swarm', limits: { iterations }, ...more });
const pattern = (source: string) =>
  ({ kind: 'pattern', pattern: source, scope: 'screen', phase: 'after', history: 'loop' }) as const;
const silent: RunEnding = { how: 'timed-out', which: 'inactivity' };
const status = (told: ReturnType<typeof play>) => (told.outcome === null ? null : endedStatus(told.outcome));
const inputs = { base: '', isSpecification: false, diff: '', progress: '', messages: '', checkOutput: {} };

describe('the outer loop', () => {
  it('S4.9 starts at iteration 0 and counts up with every start', () => {
    const told = play(swarm(2), { runs: [exits(0)] }, [
      { after: nth('loop.created'), control: { type: 'pause' } },
    ]);
    expect(told.state.iteration).toBe(0);
    const resumed = told.more({ type: 'resume', now: false });
    expect(resumed.journal.filter(({ type }) => type === 'iteration.started')).toMatchObject([
      { iteration: 1 },
      { iteration: 2 },
    ]);
  });

  it('S4.10 waits for exit or inactivity, and looks for the pattern', () => {
    const told = play(swarm(3), { runs: [exits(0), exits(0, { ending: silent }), claims()] });
    expect(told.started[0]).toMatchObject({ type: 'run', inactivityMs: 60_000, timeoutMs: null });
    const endings = told.journal.flatMap((event) => (event.type === 'run.ended' ? [event.ending.how] : []));
    expect(endings).toEqual(['exited', 'timed-out', 'exited']);
    expect(told.outcome?.type).toBe('done');
  });

  it('S4.11 judges the pattern before the limit, and restarts after an exit and after inactivity', () => {
    const matched = play(swarm(1), { runs: [claims()] });
    expect(matched.outcome?.type).toBe('done');
    expect(matched.exitCode).toBe(0);
    const told = play(swarm(3), { runs: [exits(0), exits(0, { ending: silent }), exits(0)] });
    expect(told.runs).toEqual(['1.1', '2.1', '3.1']);
    expect(told.outcome).toEqual({ type: 'iterations-exhausted', limit: 3 });
    expect(told.exitCode).toBe(0);
    expect(play(swarm(5), { runs: [claims({ ending: silent })] }).outcome?.type).toBe('done');
  });

  it('S4.12 S4.15 counts failures in a row and forgets them after an exit with 0', () => {
    const told = play(swarm(5), { runs: [exits(1), exits(139), exits(0), exits(1), exits(0)] });
    expect(told.state.failures).toEqual({ consecutive: 0, total: 3 });
    expect(told.waits).toEqual([1000, 2000, 0, 1000]);
  });

  it('S4.12 S4.102 neither counts an inactive agent as a failure nor lets it reset the count', () => {
    const told = play(swarm(4), { runs: [exits(1), exits(0, { ending: silent }), exits(1), exits(0)] });
    expect(told.waits).toEqual([1000, 0, 2000]);
  });

  it('S4.13 waits min(2^(n-1), 300) seconds after the n-th failure in a row', () => {
    const told = play(swarm(12, { limits: { iterations: 12, failures: null } }), { runs: [exits(1)] });
    expect(told.waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1000));
  });

  it('S4.14 ends with the fifth failure in a row, exit 1, without another wait', () => {
    const told = play(swarm(50), { runs: [exits(1)] });
    expect(told.outcome).toEqual({ type: 'failures-exhausted', failures: 5 });
    expect(told.exitCode).toBe(1);
    expect(status(told)).toBe('failed');
    expect(told.waits).toHaveLength(4);
    expect(play(swarm(5), { runs: [exits(1)] }).exitCode).toBe(1);
  });
});

describe('the prompt file', () => {
  it('S4.21 plans the prompt from the file anew in every iteration', () => {
    const told = play(swarm(2), { runs: [exits(0)] });
    const plans = told.started.flatMap((effect) => (effect.type === 'run' ? [effect.plan] : []));
    expect(plans).toHaveLength(2);
    expect(plans.map((plan, index) => renderPrompt(plan, { ...inputs, base: `text ${index}` }))).toEqual([
      'text 0',
      'text 1',
    ]);
  });

  it('S4.26 sends an empty prompt as it is', () => {
    expect(renderPrompt({ sections: [{ kind: 'base' }] }, inputs)).toBe('');
  });

  it.each([
    ['S4.23', 'prompt-missing', 'prompt file not found: p.md'],
    ['S4.24', 'prompt-unreadable', 'cannot read prompt file: p.md'],
  ] as const)('%s ends the loop, failed, exit 1, when it is gone or unreadable', (_, kind, message) => {
    const ending: RunEnding = { how: 'not-started', error: { kind, message } };
    const told = play(swarm(9), { runs: [exits(0), exits(0, { ending })] });
    expect(told.outcome).toEqual({ type: 'prompt-lost', message });
    expect(told.exitCode).toBe(1);
    expect(status(told)).toBe('failed');
    expect(presets.default.policy.exitCodes['prompt-lost']).toBe(2);
  });
});

describe('pause and resume', () => {
  it('S4.40 ends a backoff at once', () => {
    const told = play(
      swarm(9, { limits: { iterations: 9, failures: null }, checkpoint: false }),
      { runs: [exits(1)] },
      [
        // Runs take a second each: the fourth ends after 4 + 1 + 2 + 4 seconds, and its wait would last for eight.
        { atMs: 13_000, control: { type: 'pause' } },
      ],
    );
    expect(told.outcome).toBeNull();
    expect(told.waits).toEqual([1000, 2000, 4000, 8000, -2000]);
    expect(told.world.clock).toBe(1_000_000 + 13_000);
    expect(decide(told.state)).toEqual([{ type: 'rest', key: 'rest' }]);
    expect(told.runs).toHaveLength(4);
  });

  it('S4.41 S4.79 goes on with the next number: paused after 5/10, resumed with 6/10', () => {
    const told = play(swarm(10), { runs: [exits(0)] }, [
      { after: nth('run.started', 5), control: { type: 'pause' } },
    ]);
    expect(told.runs).toHaveLength(5);
    expect(told.exitCode).toBe(0);
    const resumed = told.more({ type: 'resume', now: false });
    expect(resumed.journal.filter(({ type }) => type === 'iteration.started')[5]).toMatchObject({
      iteration: 6,
    });
    expect(resumed.runs).toHaveLength(10);
  });

  it('takes no control for what is no loop: nothing is kept and nothing is wanted', () => {
    const pause = { type: 'control.received', id: 'a', control: { type: 'pause' }, at: 1 } as const;
    expect(accepts(INITIAL, pause)).toBe(false);
    expect(evolve(INITIAL, pause)).toBe(INITIAL);
    expect(decide(INITIAL)).toEqual([]);
  });

  it('S4.42 goes on from the journal alone when owner and agent are gone', () => {
    const told = play(swarm(3), { runs: [exits(0)] });
    for (let index = 1; index < told.journal.length; index++) {
      const recovered = play(swarm(3), { runs: [exits(0)] }, [], told.journal.slice(0, index));
      expect(recovered.state.iteration).toBe(3);
      expect(recovered.outcome).toEqual(told.outcome);
    }
  });
});

describe('the done pattern', () => {
  const found = (source: string, text: string) =>
    startScan([pattern(source)])
      .read({ source: 'screen', message: 's', text })
      .claim(true) !== null;

  it('S4.44 S4.46 ends the loop as a success, stopped, exit 0, when the agent has exited and its screen matches', () => {
    const detectors = [pattern('All (tasks|tests) done')];
    const looksLike = (text: string) =>
      startScan(detectors).read({ source: 'screen', message: 'last', text }).claim(true);
    const shows = (text: string) => exits(0, { output: { claim: looksLike(text) } });
    const told = play(swarm(9, { completion: { detectors } }), {
      runs: [shows('2 of 3 tasks done'), shows('$ agent\nAll tasks done\n$'), shows('never')],
    });
    expect(told.runs).toHaveLength(2);
    expect(told.journal.find(({ type }) => type === 'claim.made')).toMatchObject({
      claim: { by: 'pattern', text: 'All tasks done' },
    });
    expect(told.exitCode).toBe(0);
    expect(status(told)).toBe('stopped');
  });

  it('S4.45 reads the pattern as Python does', () => {
    expect(found('(?i)all tasks (?P<what>done|complete)', 'ALL TASKS COMPLETE')).toBe(true);
    expect(found(String.raw`^done\Z`, 'not done')).toBe(false);
    const refused = resolvePolicy({ ...swarm(), completion: { detectors: [pattern('a(b')] } });
    expect(
      refused.ok ? '' : describeProblem(refused.problems[0] ?? { field: '', expected: '', got: '' }),
    ).toMatch(
      /^completion\.detectors\[0\]\.pattern must be a regular expression in Python's syntax, got "a\(b": .* at position 1$/,
    );
  });
});

describe('the end', () => {
  it('S4.55 is stopped and exits 0 when the iterations are used up', () => {
    const told = play(swarm(2), { runs: [exits(0)] });
    expect(told.exitCode).toBe(0);
    expect(status(told)).toBe('stopped');
  });

  it('S4.55 S4.100 waits for the last agent before the loop is complete', () => {
    const told = play(swarm(1, { checkpoint: false }), { runs: [exits(0, { ms: 3000 })] });
    expect(told.world.clock).toBe(1_000_000 + 3000);
    expect(told.world.alive()).toEqual([]);
  });

  it('S4.71 keeps loops apart: two journals read side by side give the states that each gives alone', () => {
    const one = play(swarm(2), { runs: [exits(0)] });
    const other = play(swarm(3), { runs: [exits(1)] });
    let [left, right] = [INITIAL, INITIAL];
    for (let index = 0; index < 40; index++) {
      for (const event of one.journal.slice(index, index + 1)) left = evolve(left, event);
      for (const event of other.journal.slice(index, index + 1)) right = evolve(right, event);
    }
    expect([left, right]).toEqual([fold(one.journal), fold(other.journal)]);
    expect([left.failures.total, right.failures.total]).toEqual([0, 3]);
  });

  it('S4.72 ends agent and loop when it is killed, stopped, also out of a backoff', () => {
    const kill = { type: 'stop', now: true, by: 'person' } as const;
    const running = play(swarm(9), { runs: [hangs()] }, [{ after: nth('run.started'), control: kill }]);
    expect(running.world.alive()).toEqual([]);
    expect(status(running)).toBe('stopped');
    const waiting = play(swarm(9), { runs: [exits(1)] }, [{ atMs: 7000, control: kill }]);
    expect(waiting.waits).toEqual([1000, 2000, 4000]);
    expect(waiting.runs).toHaveLength(3);
    expect(waiting.outcome?.type).toBe('stopped');
  });

  it('S4.77 S4.78 starts a fresh agent after every exit 0, with the next number', () => {
    const told = play(swarm(4), { runs: [exits(0)] });
    expect(new Set(told.runs)).toEqual(new Set(['1.1', '2.1', '3.1', '4.1']));
    expect(told.waits).toEqual([0, 0, 0]);
  });
});
