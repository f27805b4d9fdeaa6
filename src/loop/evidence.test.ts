import { describe, expect, it } from 'vitest';
import { given, begun, exited, output, plain, wanted } from '../../test/rig/given.ts';
import { nth, play, policyOf } from '../../test/rig/play.ts';
import { claims, exits, limited } from '../../test/rig/world.ts';
import type { Happening, LoopEvent, ChangedEvidence } from './event.ts';
import type { OnProtectedChange } from './policy.ts';
import { renderPrompt } from './prompt.ts';
import { report } from './report.ts';
import { resolvePolicy, type PolicyInput } from './validate.ts';
import { changedSentences, evidenceSection } from './evidence.ts';

const checks = { commands: [{ command: './check.sh', action: 'APPEND', hint: null }] } as const;
const protecting = (onProtectedChange: OnProtectedChange): PolicyInput => ({
  ...plain,
  checks,
  evidence: { protect: ['check.sh'], onProtectedChange },
});
const tampering = claims({ leaves: { tampers: true } });
const types = (journal: readonly LoopEvent[]): readonly string[] => journal.map(({ type }) => type);

describe('the evidence', () => {
  it('is examined after every run, before the checks', () => {
    const { journal } = play(protecting('warn'), { start: true, runs: [tampering] });
    expect(types(journal)).toEqual([
      'loop.created',
      'start.recorded',
      'iteration.started',
      'run.planned',
      'run.started',
      'run.output',
      'run.output',
      'run.ended',
      'evidence.examined',
      'checks.started',
      'check.finished',
      'claim.made',
      'claim.accepted',
      'loop.ended',
    ]);
  });

  it('is not examined without a record of the start, or if no verdict rests on files', () => {
    const unrecorded = play(protecting('reject'), { runs: [tampering] });
    const unchecked = play(plain, { start: true, runs: [tampering] });
    for (const { journal, outcome } of [unrecorded, unchecked]) {
      expect(types(journal)).not.toContain('evidence.examined');
      expect(outcome?.type).toBe('done');
    }
  });

  it('is examined in a loop without checks whose prompt is a file, and never rejects its claim', () => {
    const start: Happening = { type: 'start.recorded', tree: 'a1b2', prompt: 'PROMPT.md' };
    const afterRun = given(plain, start, ...begun, exited('1.1', 0));
    const documented = given({ ...plain, preset: 'ralph-cli' }, start, ...begun, exited('1.1', 0));
    expect(wanted(documented)).toMatchObject({ type: 'wait' });
    expect(wanted(afterRun)).toMatchObject({ type: 'examine', start: { prompt: 'PROMPT.md' } });
    const changed = [{ path: 'PROMPT.md', how: 'changed', as: 'prompt' }] as const;
    const found: Happening = {
      type: 'evidence.examined',
      key: 'examine:1.1:after',
      changed,
      more: 0,
      protected: 0,
      problem: null,
    };
    const claimed = { claim: { by: 'promise-tag', text: '<promise>DONE</promise>' } } as const;
    const through = [start, ...begun, output('1.1', claimed), exited('1.1', 0), found];
    const verdict = given(plain, ...through, {
      type: 'claim.made',
      iteration: 1,
      run: '1.1',
      claim: claimed.claim,
    });
    expect(wanted(verdict)).toMatchObject({ type: 'record', event: { type: 'claim.accepted' } });
  });

  it('rejects a claim while a protected file is changed, and the next prompt says how to see the old one', () => {
    const undone = claims({ leaves: { tampers: false } });
    const { journal, outcome, started } = play(protecting('reject'), {
      start: true,
      runs: [tampering, undone],
    });
    expect(outcome).toMatchObject({ type: 'done', verified: true });
    expect(journal.find(({ type }) => type === 'claim.rejected')).toMatchObject({
      failed: [],
      because: 'protected-change',
      files: ['check.sh'],
    });
    const prompts = started.flatMap((effect) =>
      effect.type === 'run' ? [renderPrompt(effect.plan, INPUTS)] : [],
    );
    expect(prompts[0]).not.toContain('verify');
    expect(prompts[1]).toContain('- check.sh: changed, protected\n');
    expect(prompts[1]).toContain('`git show a1b2:./FILE`');
    expect(prompts[1]).toContain('no claim to be done is accepted until it is as it was at the start');
  });

  it('of a claim by the checks alone counts as well', () => {
    const input = {
      ...protecting('reject'),
      completion: { until: 'checks', detectors: [] },
      limits: { iterations: 2 },
    };
    const { outcome } = play(input, {
      start: true,
      runs: [exits(0, { leaves: { tampers: true } }), exits(0)],
    });
    expect(outcome?.type).toBe('iterations-exhausted');
  });

  it('is restored before the checks, once per run that changed it', () => {
    const { journal, outcome } = play(protecting('restore'), {
      start: true,
      checks: [1, 1, 0],
      runs: [tampering, claims(), tampering],
    });
    expect(outcome?.type).toBe('done');
    const restoring = ['evidence.examined', 'evidence.restored', 'checks.started'];
    expect(
      types(journal).filter((type) => type.startsWith('evidence.') || type === 'checks.started'),
    ).toEqual([...restoring, 'evidence.examined', 'checks.started', ...restoring]);
    expect(report(journal)).toMatchObject({
      restored: ['check.sh'],
      moreRestored: 0,
      evidence: { changed: [] },
    });
  });

  it('that cannot be restored rejects the claim', () => {
    const { outcome, journal } = play(
      { ...protecting('restore'), limits: { iterations: 1, unchanged: null } },
      { start: true, stubborn: true, runs: [tampering] },
    );
    expect(outcome?.type).toBe('iterations-exhausted');
    expect(report(journal)).toMatchObject({
      protectedClaims: 1,
      evidence: { changed: [{ path: 'check.sh' }] },
    });
  });

  it('that cannot be compared rejects the claim only where a change would', () => {
    const broken = { changed: [], more: 0, protected: 0, problem: 'git is gone' };
    const key = 'examine:1.1:after';
    const after = (policy: PolicyInput) =>
      wanted(
        given(
          { ...policy, checks: { commands: [] } },
          { type: 'start.recorded', tree: 'a1b2' },
          ...begun,
          { type: 'run.output', run: '1.1', ...OUTPUT },
          exited('1.1', 0),
          { type: 'evidence.examined', key, ...broken },
          { type: 'claim.made', iteration: 1, run: '1.1', claim: OUTPUT.claim },
        ),
      );
    expect(after(protecting('reject'))).toMatchObject({ event: { type: 'claim.rejected', files: [] } });
    expect(after(protecting('warn'))).toMatchObject({ event: { type: 'claim.accepted' } });
  });

  it('is examined before a marker of a run that was cut short is believed', () => {
    const input = { ...protecting('reject'), limits: { iterations: 1, unchanged: null }, completion: {} };
    const cut = limited(1000, { leaves: { done: true, tampers: true } });
    const { journal } = play(input, { start: true, runs: [cut, exits(0)] });
    const first = journal.find(({ type }) => type.startsWith('claim.') && type !== 'claim.made');
    expect(first).toMatchObject({ type: 'claim.rejected', because: 'protected-change' });
  });

  it('is examined again if a person protects other files meanwhile', () => {
    const once = { limits: { iterations: 1, unchanged: null } };
    const policy = policyOf({ ...protecting('reject'), ...once });
    const { journal, outcome } = play(
      { ...protecting('warn'), ...once },
      { start: true, runs: [tampering] },
      [{ after: nth('claim.made'), event: { type: 'policy.changed', policy } }],
    );
    expect(journal.filter(({ type }) => type === 'evidence.examined')).toHaveLength(2);
    expect(outcome?.type).not.toBe('done');
  });

  it('has a start that is recorded once, before the first run', () => {
    const before = given(
      protecting('warn'),
      { type: 'start.recorded', tree: 'a' },
      { type: 'start.recorded', tree: 'b' },
    );
    expect(before.start).toEqual({ tree: 'a' });
    expect(given(protecting('warn'), ...begun, { type: 'start.recorded', tree: 'b' }).start).toBeNull();
  });
});

describe('a policy', () => {
  it('must protect something to reject or restore, with valid globs', () => {
    const problem = (evidence: object): unknown => {
      const resolution = resolvePolicy({ evidence });
      return resolution.ok ? null : resolution.problems[0]?.field;
    };
    expect(problem({ onProtectedChange: 'reject' })).toBe('evidence.protect');
    expect(problem({ protect: ['/etc'] })).toBe('evidence.protect[0]');
    expect(problem({ protect: ['a'], onProtectedChange: 'shout' })).toBe('evidence.onProtectedChange');
    expect(problem({ protect: ['a'], onProtectedChange: 'reject' })).toBeNull();
  });
});

const OUTPUT = {
  offset: 1,
  tokens: null,
  cost: null,
  steps: 0,
  said: 'success',
  claim: { by: 'promise-tag', text: '<promise>DONE</promise>' },
  claimEndsRun: false,
  limit: null,
} as const;
const INPUTS = {
  base: 'work',
  isSpecification: false,
  diff: '',
  progress: '',
  messages: '',
  checkOutput: {},
} as const;

const file = (path: string, more: Partial<ChangedEvidence> = {}): ChangedEvidence => ({
  path,
  how: 'changed',
  as: 'check',
  ...more,
});
const section = (changed: readonly ChangedEvidence[], rejects = false): string =>
  evidenceSection(
    {
      found: { changed, more: 0, protected: 0, problem: null },
      restoration: null,
    },
    'a1b2',
    rejects,
  );

describe('what is said about changed evidence', () => {
  it('says of a prompt file that it was deleted, or that it was changed', () => {
    const prompt = (how: ChangedEvidence['how']) =>
      changedSentences({ changed: [file('PROMPT.md', { as: 'prompt', how })], more: 0 });
    expect(prompt('changed')).toEqual(['the prompt file was changed since the start: PROMPT.md']);
    expect(prompt('deleted')).toEqual(['the prompt file was deleted since the start: PROMPT.md']);
  });

  it.each([
    [[file('a.sh')], 0, 'a file that verifies the work was changed since the start: a.sh'],
    [
      [file('a.sh', { how: 'deleted' })],
      0,
      'a file that verifies the work was deleted since the start: a.sh',
    ],
    [
      [file('package.json', { part: 'scripts.test' })],
      0,
      'a file that verifies the work was changed since the start: package.json (scripts.test)',
    ],
    [
      [file('a.sh'), file('b.sh', { how: 'deleted' })],
      0,
      'files that verify the work were changed since the start: a.sh, b.sh (deleted)',
    ],
    [[file('a.sh')], 2, 'files that verify the work were changed since the start: a.sh and 2 more'],
  ])('is in the singular for one file: %j and %i more', (changed, more, sentence) => {
    expect(changedSentences({ changed, more })).toEqual([sentence]);
  });

  it('is in the singular in a prompt, too', () => {
    const one = section([file('a.sh', { as: 'protected' })], true);
    expect(one).toContain('This file existed when the loop started, and an earlier run changed it:\n- a.sh');
    expect(one).toContain('Undo the change unless the task needs it;');
    expect(one).toContain('It is a protected file: no claim');
    expect(section([file('a.sh', { how: 'deleted' })])).toContain('an earlier run deleted it:');
    const two = section([file('a.sh', { as: 'protected' }), file('b.sh')], true);
    expect(two).toContain(
      'These files existed when the loop started, and earlier runs changed or deleted them:',
    );
    expect(two).toContain('Protected files are among them: no claim');
  });

  it('is in the singular about a protected file that was put back', () => {
    const back = (...restored: readonly string[]): string =>
      evidenceSection(
        {
          found: {
            changed: restored.map((path) => file(path, { as: 'protected' })),
            more: 0,
            protected: restored.length,
            problem: null,
          },
          restoration: { restored, more: 0, failed: [], moreFailed: 0 },
        },
        'a1b2',
        false,
      );
    expect(back('a.sh')).toContain('Ralph put this protected file back. Do not change it:\n- a.sh');
    expect(back('a.sh', 'b.sh')).toContain('Ralph put these protected files back. Do not change them:');
  });
});
