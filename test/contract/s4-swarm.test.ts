import { describe, expect, it } from 'vitest';
import type { RunEnding } from '../../src/loop/event.ts';
import { decide } from '../../src/loop/decide.ts';
import { accepts, evolve, fold } from '../../src/loop/evolve.ts';
import { INITIAL } from '../../src/loop/initial.ts';
import { endedStatus } from '../../src/loop/outcome.ts';
import { presets } from '../../src/loop/presets.ts';
import { renderPrompt } from '../../src/loop/prompt.ts';
import { startScan } from '../rig/scan.ts';
import { describeProblem, resolvePolicy } from '../../src/loop/validate.ts';
import { nth, play } from '../rig/play.ts';
import { claims, exits, hangs } from '../rig/world.ts';

const swarm = (iterations = 10, more: object = {}) => ({ preset: 'swarm', limits: { iterations }, ...more });
const pattern = (source: string) =>
  ({ kind: 'pattern', pattern: source, scope: 'screen', phase: 'after', history: 'loop' }) as const;
const silent: RunEnding = { how: 'timed-out', which: 'inactivity' };
const status = (loop: ReturnType<typeof play>) => (loop.outcome === null ? null : endedStatus(loop.outcome));
const inputs = { base: '', isSpecification: false, diff: '', progress: '', messages: '', checkOutput: {} };

describe('the outer loop', () => {
  it('S4.9 starts at iteration 0 and adds 1 with every start', () => {
    const loop = play(swarm(2), { runs: [exits(0)] }, [
      { after: nth('loop.created'), control: { type: 'pause' } },
    ]);
    expect(loop.state.iteration).toBe(0);
    const resumed = loop.more({ type: 'resume', now: false });
    expect(resumed.journal.filter(({ type }) => type === 'iteration.started')).toMatchObject([
      { iteration: 1 },
      { iteration: 2 },
    ]);
  });

  it('S4.10 waits for exit or inactivity, then looks for the pattern', () => {
    const loop = play(swarm(3), { runs: [exits(0), exits(0, { ending: silent }), claims()] });
    expect(loop.started[0]).toMatchObject({ type: 'run', inactivityMs: 60_000, timeoutMs: null });
    const endings = loop.journal.flatMap((event) => (event.type === 'run.ended' ? [event.ending.how] : []));
    expect(endings).toEqual(['exited', 'timed-out', 'exited']);
    expect(loop.outcome?.type).toBe('done');
  });

  it('S4.11 checks the pattern before the limit, and restarts the agent after an exit and after inactivity', () => {
    const matched = play(swarm(1), { runs: [claims()] });
    expect(matched.outcome?.type).toBe('done');
    expect(matched.exitCode).toBe(0);
    const loop = play(swarm(3), { runs: [exits(0), exits(0, { ending: silent }), exits(0)] });
    expect(loop.runs).toEqual(['1.1', '2.1', '3.1']);
    expect(loop.outcome).toEqual({ type: 'iterations-exhausted', limit: 3 });
    expect(loop.exitCode).toBe(0);
    expect(play(swarm(5), { runs: [claims({ ending: silent })] }).outcome?.type).toBe('done');
  });

  it('S4.12 S4.15 counts consecutive failures and resets the count after an exit with 0', () => {
    const loop = play(swarm(5), { runs: [exits(1), exits(139), exits(0), exits(1), exits(0)] });
    expect(loop.state.failures).toEqual({ consecutive: 0, total: 3 });
    expect(loop.waits).toEqual([1000, 2000, 0, 1000]);
  });

  it('S4.12 S4.102 neither counts an inactive agent as a failure nor resets the count', () => {
    const loop = play(swarm(4), { runs: [exits(1), exits(0, { ending: silent }), exits(1), exits(0)] });
    expect(loop.waits).toEqual([1000, 0, 2000]);
  });

  it('S4.13 waits min(2^(n-1), 300) seconds after the n-th consecutive failure', () => {
    const loop = play(swarm(12, { limits: { iterations: 12, failures: null } }), { runs: [exits(1)] });
    expect(loop.waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1000));
  });

  it('S4.14 ends after the fifth consecutive failure with exit code 1, without another wait', () => {
    const loop = play(swarm(50), { runs: [exits(1)] });
    expect(loop.outcome).toEqual({ type: 'failures-exhausted', failures: 5 });
    expect(loop.exitCode).toBe(1);
    expect(status(loop)).toBe('failed');
    expect(loop.waits).toHaveLength(4);
    expect(play(swarm(5), { runs: [exits(1)] }).exitCode).toBe(1);
  });
});

describe('the prompt file', () => {
  it('S4.21 is read again for the prompt of every iteration', () => {
    const loop = play(swarm(2), { runs: [exits(0)] });
    const plans = loop.started.flatMap((effect) => (effect.type === 'run' ? [effect.plan] : []));
    expect(plans).toHaveLength(2);
    expect(plans.map((plan, index) => renderPrompt(plan, { ...inputs, base: `text ${index}` }))).toEqual([
      'text 0',
      'text 1',
    ]);
  });

  it('S4.26 is sent as it is even if it is empty', () => {
    expect(renderPrompt({ sections: [{ kind: 'base' }] }, inputs)).toBe('');
  });

  it.each([
    ['S4.23', 'prompt-missing', 'prompt file not found: p.md'],
    ['S4.24', 'prompt-unreadable', 'cannot read prompt file: p.md'],
  ] as const)(
    '%s ends the loop as failed with exit code 1 if it is missing or unreadable',
    (_, kind, message) => {
      const ending: RunEnding = { how: 'not-started', error: { kind, message } };
      const loop = play(swarm(9), { runs: [exits(0), exits(0, { ending })] });
      expect(loop.outcome).toEqual({ type: 'prompt-lost', message });
      expect(loop.exitCode).toBe(1);
      expect(status(loop)).toBe('failed');
      expect(presets.default.policy.exitCodes['prompt-lost']).toBe(2);
    },
  );
});

describe('pause and resume', () => {
  it('S4.40 pause ends a backoff at once', () => {
    const loop = play(
      swarm(9, { limits: { iterations: 9, failures: null }, checkpoint: false }),
      { runs: [exits(1)] },
      [
        // Runs take a second each, so the fourth ends after 4 + 1 + 2 + 4 seconds and its wait would last eight.
        { atMs: 13_000, control: { type: 'pause' } },
      ],
    );
    expect(loop.outcome).toBeNull();
    expect(loop.waits).toEqual([1000, 2000, 4000, 8000, -2000]);
    expect(loop.world.clock).toBe(1_000_000 + 13_000);
    expect(decide(loop.state)).toEqual([{ type: 'rest', key: 'rest' }]);
    expect(loop.runs).toHaveLength(4);
  });

  it('S4.41 S4.79 resume starts the next iteration: paused after 5/10, resumed with 6/10', () => {
    const loop = play(swarm(10), { runs: [exits(0)] }, [
      { after: nth('run.started', 5), control: { type: 'pause' } },
    ]);
    expect(loop.runs).toHaveLength(5);
    expect(loop.exitCode).toBe(0);
    const resumed = loop.more({ type: 'resume', now: false });
    expect(resumed.journal.filter(({ type }) => type === 'iteration.started')[5]).toMatchObject({
      iteration: 6,
    });
    expect(resumed.runs).toHaveLength(10);
  });

  it('do nothing before a loop is created', () => {
    const pause = { type: 'control.received', id: 'a', control: { type: 'pause' }, at: 1 } as const;
    expect(accepts(INITIAL, pause)).toBe(false);
    expect(evolve(INITIAL, pause)).toBe(INITIAL);
    expect(decide(INITIAL)).toEqual([]);
  });

  it('S4.42 resume needs only the journal if owner and agent are gone', () => {
    const loop = play(swarm(3), { runs: [exits(0)] });
    for (let index = 1; index < loop.journal.length; index++) {
      const recovered = play(swarm(3), { runs: [exits(0)] }, [], loop.journal.slice(0, index));
      expect(recovered.state.iteration).toBe(3);
      expect(recovered.outcome).toEqual(loop.outcome);
    }
  });
});

describe('the done pattern', () => {
  const isFound = (source: string, text: string) =>
    startScan([pattern(source)])
      .read({ source: 'screen', message: 's', text })
      .claim(true) !== null;

  it('S4.44 S4.46 ends the loop as stopped with exit code 0 when the agent has exited and its screen matches', () => {
    const detectors = [pattern('All (tasks|tests) done')];
    const claimOn = (text: string) =>
      startScan(detectors).read({ source: 'screen', message: 'last', text }).claim(true);
    const shows = (text: string) => exits(0, { output: { claim: claimOn(text) } });
    const loop = play(swarm(9, { completion: { detectors } }), {
      runs: [shows('2 of 3 tasks done'), shows('$ agent\nAll tasks done\n$'), shows('never')],
    });
    expect(loop.runs).toHaveLength(2);
    expect(loop.journal.find(({ type }) => type === 'claim.made')).toMatchObject({
      claim: { by: 'pattern', text: 'All tasks done' },
    });
    expect(loop.exitCode).toBe(0);
    expect(status(loop)).toBe('stopped');
  });

  it('S4.45 has the syntax of Python', () => {
    expect(isFound('(?i)all tasks (?P<what>done|complete)', 'ALL TASKS COMPLETE')).toBe(true);
    expect(isFound(String.raw`^done\Z`, 'not done')).toBe(false);
    const refused = resolvePolicy({ ...swarm(), completion: { detectors: [pattern('a(b')] } });
    expect(
      refused.ok ? '' : describeProblem(refused.problems[0] ?? { field: '', expected: '', got: '' }),
    ).toMatch(
      /^completion\.detectors\[0\]\.pattern must be a regular expression in Python's syntax, got "a\(b": .* at position 1$/,
    );
  });
});

describe('the end', () => {
  it('S4.55 has the status stopped and exit code 0 at the iteration limit', () => {
    const loop = play(swarm(2), { runs: [exits(0)] });
    expect(loop.exitCode).toBe(0);
    expect(status(loop)).toBe('stopped');
  });

  it('S4.55 S4.100 comes only after the last agent has exited', () => {
    const loop = play(swarm(1, { checkpoint: false }), { runs: [exits(0, { ms: 3000 })] });
    expect(loop.world.clock).toBe(1_000_000 + 3000);
    expect(loop.world.alive()).toEqual([]);
  });
});

describe('two loops', () => {
  it('S4.71 do not mix: two journals folded side by side give the same states as each alone', () => {
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
});

describe('a kill', () => {
  it('S4.72 ends the agent and the loop as stopped, even during a backoff', () => {
    const kill = { type: 'stop', now: true, by: 'person' } as const;
    const running = play(swarm(9), { runs: [hangs()] }, [{ after: nth('run.started'), control: kill }]);
    expect(running.world.alive()).toEqual([]);
    expect(status(running)).toBe('stopped');
    const waiting = play(swarm(9), { runs: [exits(1)] }, [{ atMs: 7000, control: kill }]);
    expect(waiting.waits).toEqual([1000, 2000, 4000]);
    expect(waiting.runs).toHaveLength(3);
    expect(waiting.outcome?.type).toBe('stopped');
  });
});

describe('an agent that exits with 0', () => {
  it('S4.77 S4.78 is followed by a fresh agent with the next iteration number', () => {
    const loop = play(swarm(4), { runs: [exits(0)] });
    expect(new Set(loop.runs)).toEqual(new Set(['1.1', '2.1', '3.1', '4.1']));
    expect(loop.waits).toEqual([0, 0, 0]);
  });
});
