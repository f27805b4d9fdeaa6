import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

const HISTORIES = Number(process.env['RALPH_HISTORIES'] ?? 10_000);

describe('the loop in a faulty world', () => {
  it(`keeps L1 to L12 in ${HISTORIES} histories with crashes at any index`, { timeout: 120_000 }, () => {
    const endings = new Map<string, number>();
    let restarts = 0;
    fc.assert(
      fc.property(scenario, (drawn) => {
        const history = simulate(drawn);
        restarts += history.restarts;
        const ending = history.state.outcome?.type ?? 'none';
        endings.set(ending, (endings.get(ending) ?? 0) + 1);
      }),
      { numRuns: HISTORIES },
    );
    // Histories that never get anywhere would prove nothing: every way to end must have been taken.
    if (HISTORIES >= 10_000) {
      expect([...endings.keys()].toSorted()).toEqual([
        'bad-input',
        'cost-exhausted',
        'done',
        'failures-exhausted',
        'fatal',
        'iterations-exhausted',
        'stopped',
        'stuck',
        'time-exhausted',
        'tokens-exhausted',
        'waiting',
      ]);
      expect(restarts).toBeGreaterThan(HISTORIES);
    }
  });

  it('dies at every single index of a history, one death at a time', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(scenario, (drawn) => {
        const calm = { ...drawn, crashesAfter: [], crashesBefore: [] };
        const { journal } = simulate(calm);
        for (let index = 1; index <= journal.length; index++) {
          simulate({ ...calm, crashesAfter: [index] });
          simulate({ ...calm, crashesBefore: [index] });
        }
      }),
      { numRuns: 50 },
    );
  });
});
