import { describe, expect, it } from 'vitest';
import { decide } from '../../src/loop/decide.ts';
import { evolve, INITIAL } from '../../src/loop/evolve.ts';
import { CONTINUATION_TEMPLATE, presets } from '../../src/loop/presets.ts';
import { renderPrompt, type PromptInputs } from '../../src/loop/prompt.ts';
import { startScan, type Piece } from '../../src/loop/scan.ts';
import { play, policyOf, type Tale } from '../rig/play.ts';
import { claims, exits } from '../rig/world.ts';

const promise = (iterations = 100) => ({ preset: 'promise', limits: { iterations } });
const detector = (value: string) => ({ ...presets.promise.policy.completion.detectors[0], value });
const says = (pieces: readonly Partial<Piece>[], value = 'DONE', more: object = {}) => {
  const { detectors } = policyOf({
    preset: 'promise',
    completion: { detectors: [{ ...detector(value), ...more }] },
  }).completion;
  let scanner = startScan(detectors);
  for (const piece of pieces)
    scanner = scanner.read({ source: 'assistant', message: 'm', text: '', ...piece });
  return scanner.claim(true) !== null;
};
const promptOfRun = (told: Tale, run: string, base: string): string => {
  const effect = told.started.find((started) => started.type === 'run' && started.run === run);
  if (effect?.type !== 'run') throw new Error(`no run ${run}`);
  const inputs: PromptInputs = {
    base,
    isSpecification: false,
    diff: '',
    progress: '',
    messages: '',
    checkOutput: {},
  };
  return renderPrompt(effect.plan, inputs);
};

describe('detection', () => {
  it('S5.13 finds the tag in any case, with blanks and newlines around the promise, anywhere', () => {
    expect(says([{ text: 'ok <promise>DONE</promise> bye' }])).toBe(true);
    expect(says([{ text: '<PROMISE>\n done \n</promise>' }])).toBe(true);
    expect(says([{ text: '<promise>nearly DONE</promise>' }])).toBe(false);
    expect(says([{ text: '<promise>no</promise> <promise>DONE</promise>' }])).toBe(true);
  });

  it('S5.14 takes the promise literally', () => {
    const odd = String.raw`.*+?^$` + '{}()|[]\\';
    expect(says([{ text: `<promise>${odd}</promise>` }], odd)).toBe(true);
    expect(says([{ text: '<promise>axb</promise>' }], 'a.b')).toBe(false);
  });

  it('finds nothing where there is nothing to read', () => {
    expect(says([])).toBe(false);
    expect(says([{ text: '' }])).toBe(false);
  });

  it('S5.16 reads the assistant only: not the user, not a tool, not the thoughts', () => {
    for (const source of ['prompt', 'tool', 'reasoning'] as const) {
      expect(says([{ source, text: '<promise>DONE</promise>' }])).toBe(false);
    }
    expect(says([{ text: '<promise>DONE</promise>' }, { message: 'later', text: 'One more thing.' }])).toBe(
      true,
    );
  });

  it('S5.50 does not count what was said before the loop began, unless the policy says so', () => {
    const old = { text: '<promise>DONE</promise>', earlier: true };
    expect(says([old])).toBe(false);
    expect(says([old], 'DONE', { history: 'session' })).toBe(true);
  });
});

describe('the continuation', () => {
  it('S5.7 is the given template', () => {
    expect(CONTINUATION_TEMPLATE.split('\n')).toEqual([
      '[RALPH LOOP - ITERATION {{ITERATION}}/{{MAX}}]',
      '',
      'Your previous attempt did not output the completion promise. Continue working on the task.',
      '',
      'IMPORTANT:',
      '- Review your progress so far',
      '- Continue from where you left off  ',
      '- When FULLY complete, output: <promise>{{PROMISE}}</promise>',
      '- Do not stop until the task is truly done',
      '',
      'Original task:',
      '{{PROMPT}}',
    ]);
  });

  it('S5.17 S5.40 fills in the new iteration, the maximum, the promise and the task', () => {
    const told = play(promise(25), { runs: [exits(0), exits(0), claims()] });
    const text = promptOfRun(told, '2.1', 'Fix all.');
    expect(text).toContain('[RALPH LOOP - ITERATION 2/25]');
    expect(text).toContain('output: <promise>DONE</promise>');
    expect(text.endsWith('Original task:\nFix all.')).toBe(true);
    expect(told.waits[0]).toBe(500);
  });

  it('S5.17 fills in each placeholder once, where it first stands', () => {
    const section = {
      kind: 'continuation',
      template: '{{MAX}} {{MAX}} {{PROMPT}}',
      iteration: 2,
      limit: 7,
      promise: 'P',
    } as const;
    const inputs = {
      base: 'task',
      isSpecification: false,
      diff: '',
      progress: '',
      messages: '',
      checkOutput: {},
    };
    expect(renderPrompt({ sections: [{ kind: 'base' }, section] }, inputs)).toBe('7 {{MAX}} task');
  });

  it('S5.49 inserts the task literally', () => {
    const told = play(promise(), { runs: [exits(0), claims()] });
    const task = "costs $$5, $& $` $' $1 and {{MAX}} {{PROMISE}}";
    expect(promptOfRun(told, '2.1', task).endsWith(`Original task:\n${task}`)).toBe(true);
    const odd = { ...promise(), completion: { detectors: [detector('$& $$ {{PROMPT}}')] } };
    const asked = promptOfRun(play(odd, { runs: [exits(0), claims()] }), '2.1', task);
    expect(asked).toContain('output: <promise>$& $$ {{PROMPT}}</promise>');
  });
});

describe('idle after idle', () => {
  it('S5.36 is done when the promise is there, after so many iterations', () => {
    const told = play(promise(), { runs: [exits(0), claims()] });
    expect(told.outcome?.type).toBe('done');
    expect(told.state.iteration).toBe(2);
  });

  it('S5.37 stops at the limit', () => {
    expect(play(promise(3), { runs: [exits(0)] }).outcome).toEqual({
      type: 'iterations-exhausted',
      limit: 3,
    });
    expect(presets.promise.policy.limits.iterations).toBe(100);
  });

  it('S5.38 does nothing more while the new iteration is not on record', () => {
    const created = evolve(INITIAL, { type: 'loop.created', name: 'x', policy: policyOf(promise()), at: 1 });
    const wanted = decide(created);
    expect(wanted).toMatchObject([{ type: 'record', event: { type: 'iteration.started', iteration: 1 } }]);
    expect(decide(created)).toEqual(wanted);
    expect(decide(evolve(created, { type: 'iteration.started', iteration: 1, at: 2 }))).toMatchObject([
      { type: 'run' },
    ]);
  });

  it('S5.41 takes a promise in the last permitted iteration for a success', () => {
    expect(play(promise(3), { runs: [exits(0), exits(0), claims()] }).outcome?.type).toBe('done');
  });

  it('S5.42 injects N-1 continuations: the first iteration is the user’s own prompt', () => {
    const told = play(promise(3), { runs: [exits(0)] });
    const injected = told.started.filter(
      (effect) => effect.type === 'run' && effect.plan.sections.some(({ kind }) => kind === 'continuation'),
    );
    expect(injected).toHaveLength(2);
    expect(promptOfRun(told, '1.1', 'Fix all.')).toBe('Fix all.');
  });

  it('S5.47 S5.48 completes, goes on, stops at the limit and survives a restart at any point', () => {
    const told = play(promise(4), { runs: [exits(0), exits(0), claims()] });
    expect(told.outcome?.type).toBe('done');
    for (let index = 1; index < told.journal.length; index++) {
      const limited = play(promise(4), { runs: [exits(0)] }, [], told.journal.slice(0, index));
      expect(limited.outcome?.type).toBe(
        limited.journal.some(({ type }) => type === 'claim.made') ? 'done' : 'iterations-exhausted',
      );
      expect(limited.state.iteration).toBeLessThanOrEqual(4);
    }
  });
});
