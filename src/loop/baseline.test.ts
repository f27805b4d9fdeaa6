import { describe, expect, it } from 'vitest';
import { play } from '../../test/rig/play.ts';
import { claims } from '../../test/rig/world.ts';

const commands = ['lint', 'test'].map((command) => ({ command, action: 'APPEND', hint: null }));
const guarded = { preset: 'default', checks: { commands, baseline: true } };

describe('the baseline', () => {
  it('runs every check once before anything else and goes into the first prompt', () => {
    const told = play(guarded, { runs: [claims()], checks: [1, 0, 0, 0] });
    expect(told.started.map(({ key }) => key).filter((key) => /^(?:check|run):/.test(key))).toEqual([
      'check:0.1',
      'check:0.2',
      'run:1.1',
      'check:1.1',
      'check:1.2',
    ]);
    const first = told.started.find(({ type }) => type === 'run');
    const sections = first?.type === 'run' ? first.plan.sections : [];
    expect(sections.filter(({ kind }) => kind === 'failed-check')).toMatchObject([{ command: 'lint' }]);
  });

  it('is no evidence: checks that pass before the work do not end the loop', () => {
    const told = play({ ...guarded, completion: { until: 'checks' } }, { runs: [claims()], checks: [0] });
    expect(told.runs).toEqual(['1.1']);
  });

  it('is skipped unless the policy asks for it', () => {
    const told = play({ ...guarded, checks: { commands } }, { runs: [claims()], checks: [0] });
    expect(told.started[0]?.key).not.toContain('check:0');
  });
});
