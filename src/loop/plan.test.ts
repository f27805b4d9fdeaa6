import { describe, expect, it } from 'vitest';
import { given, iteration, plain, wanted } from '../../test/rig/given.ts';
import { isEvent } from './event-shape.ts';
import { planReport, planSection, planText, type PlanProbe } from './plan.ts';
import { planPrompt } from './prompt-plan.ts';
import { presets } from './presets.ts';
import { NOTHING_KNOWN, learn } from './report.ts';
import { findProblems } from './validate.ts';

const probe: PlanProbe = {
  done: 3,
  total: 7,
  missing: 0,
  next: { name: 'Write the docs', within: ['Release'], details: '- [ ] Write the docs\n\n  For users.' },
  ticked: [],
  moreTicked: 0,
  changed: null,
  problem: null,
};
const planned = { ...plain, plan: { file: 'PLAN.md' } };
const probed = (phase: 'before' | 'after', plan: PlanProbe) => {
  const found = { markers: [], problem: null, messages: [], fingerprint: null, plan };
  return { type: 'probe.finished', key: `probe:1.1:${phase}`, phase, ...found } as const;
};

describe('a loop with a plan', () => {
  it('looks at the plan before and after every run', () => {
    const look = { type: 'probe', phase: 'before', plan: { file: 'PLAN.md' }, iteration: 1 };
    expect(wanted(given(planned))).toMatchObject(look);
    expect(wanted(given(plain))).toMatchObject({ type: 'record', event: { type: 'iteration.started' } });
  });

  it('shows the agent what is done and the next open item, in every preset', () => {
    const state = given(planned, probed('before', probe), iteration(1));
    expect(planPrompt(state, null).sections).toContainEqual({ kind: 'plan', file: 'PLAN.md', plan: probe });
    for (const { policy } of Object.values(presets)) expect(policy.prompt.sections).toContain('plan');
  });

  it('reads its probes back from a journal', () => {
    const event = { ...probed('after', probe), at: 1 };
    expect(isEvent(event)).toBe(true);
    expect(isEvent({ ...event, plan: { ...probe, next: 'x' } })).toBe(false);
  });

  it.each(['/etc/passwd', '../PLAN.md', 'a/../../b', '', '.', 'a//b', 'a\0b'])(
    'refuses the plan %j',
    (file) => {
      const policy = { ...presets.default.policy, plan: { file } };
      expect(findProblems(policy)).toMatchObject([
        { field: 'plan.file', expected: 'a file inside the workspace' },
      ]);
    },
  );
});

describe('the section of the prompt', () => {
  it('has the item with what it is part of and what the plan says about it', () => {
    expect(planSection('PLAN.md', probe)).toBe(
      [
        '## Plan',
        '',
        'PLAN.md: 3/7 done. Work on the next open item:',
        '',
        'Release > Write the docs',
        '',
        '- [ ] Write the docs',
        '',
        '  For users.',
        '',
        'Mark an item in PLAN.md as done only when it is. Keep the text of the others: an item that was open when the loop started and is removed or renamed counts as missing.',
      ].join('\n'),
    );
  });

  it('says that nothing is open, that items are missing, or that the plan cannot be read', () => {
    expect(planSection('PLAN.md', { ...probe, next: null })).toContain('3/7 done. No item is open.');
    expect(planSection('PLAN.md', { ...probe, next: null, missing: 2 })).toContain(
      '3/7 done, 2 missing. Items that',
    );
    expect(planSection('PLAN.md', { ...probe, next: null, missing: 1 })).toContain(
      '3/7 done, 1 missing. An item that was open when the loop started is not in the plan any more: put it back',
    );
    expect(planSection('PLAN.md', { ...probe, problem: 'plan not found: PLAN.md' })).toContain(
      'Ralph cannot read the plan: plan not found: PLAN.md.',
    );
  });
});

describe('the report', () => {
  it('keeps the items that were ticked without a change in the tree', () => {
    const policy = { ...presets.default.policy, plan: { file: 'PLAN.md' } };
    const { state } = learn(NOTHING_KNOWN, { type: 'loop.created', name: 'l', policy, at: 0 });
    const known = { state, report: NOTHING_KNOWN.report };
    const ticked = {
      ...probed('after', { ...probe, ticked: ['a', 'b'], moreTicked: 1, changed: false }),
      at: 1,
    };
    const worked = { ...probed('after', { ...probe, done: 4, ticked: ['c'], changed: true }), at: 2 };
    const after = learn(learn(known, ticked), worked).report.plan;
    expect(after).toMatchObject({ done: 4, total: 7, tickedAlone: ['a', 'b'], moreTickedAlone: 1 });
    expect(after && planText(after)).toBe('4/7 done, next: Write the docs');
  });

  it('keeps the last count if the plan cannot be read, and does not grow without bound', () => {
    const many = Array.from({ length: 8 }, (_, index) => `${index}`);
    let report = planReport(null, 'PLAN.md', probe);
    for (let round = 0; round < 5; round++) {
      const ticked = many.map((name) => `${name} in round ${round}`);
      report = planReport(report, 'PLAN.md', { ...probe, ticked, changed: false });
    }
    expect({ names: report.tickedAlone.length, more: report.moreTickedAlone }).toEqual({
      names: 20,
      more: 20,
    });
    const lost = planReport(report, 'PLAN.md', { ...probe, done: 0, total: 0, problem: 'plan not found' });
    expect(lost).toMatchObject({ done: 3, total: 7, next: null, problem: 'plan not found' });
  });
});
