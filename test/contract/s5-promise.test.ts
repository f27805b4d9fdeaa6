import { describe, expect, it } from 'vitest';
import { decide } from '../../src/loop/decide.ts';
import { evolve } from '../../src/loop/evolve.ts';
import { INITIAL } from '../../src/loop/initial.ts';
import { CONTINUATION_TEMPLATE } from '../../src/loop/continuation.ts';
import { presets } from '../../src/loop/presets.ts';
import { renderPrompt, type PromptInputs } from '../../src/loop/prompt.ts';
import { startScan, type Piece } from '../rig/scan.ts';
import { play, policyOf, type Tale } from '../rig/play.ts';
import { claims, exits } from '../rig/world.ts';

const promise = (iterations = 100) => ({ preset: 'promise', limits: { iterations } });
const detector = (value: string) => ({ ...presets.promise.policy.completion.detectors[0], value });
const isFound = (pieces: readonly Partial<Piece>[], value = 'DONE', more: object = {}) => {
  const { detectors } = policyOf({
    preset: 'promise',
    completion: { detectors: [{ ...detector(value), ...more }] },
  }).completion;
  let scanner = startScan(detectors);
  for (const piece of pieces)
    scanner = scanner.read({ source: 'assistant', message: 'm', text: '', ...piece });
  return scanner.claim(true) !== null;
};
const promptOfRun = (loop: Tale, run: string, base: string): string => {
  const effect = loop.started.find((started) => started.type === 'run' && started.run === run);
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
  it('S5.13 finds the tag anywhere, in upper or lower case, with whitespace around the promise', () => {
    expect(isFound([{ text: 'ok <promise>DONE</promise> bye' }])).toBe(true);
    expect(isFound([{ text: '<PROMISE>\n done \n</promise>' }])).toBe(true);
    expect(isFound([{ text: '<promise>nearly DONE</promise>' }])).toBe(false);
    expect(isFound([{ text: '<promise>no</promise> <promise>DONE</promise>' }])).toBe(true);
  });

  it('S5.14 matches the promise literally', () => {
    const odd = String.raw`.*+?^$` + '{}()|[]\\';
    expect(isFound([{ text: `<promise>${odd}</promise>` }], odd)).toBe(true);
    expect(isFound([{ text: '<promise>axb</promise>' }], 'a.b')).toBe(false);
  });

  it('finds nothing in empty output', () => {
    expect(isFound([])).toBe(false);
    expect(isFound([{ text: '' }])).toBe(false);
  });

  it('S5.16 S5.59 reads only the assistant: not the user, a tool or the reasoning', () => {
    for (const source of ['prompt', 'tool', 'reasoning'] as const) {
      expect(isFound([{ source, text: '<promise>DONE</promise>' }])).toBe(false);
    }
    expect(
      isFound([{ text: '<promise>DONE</promise>' }, { message: 'later', text: 'One more thing.' }]),
    ).toBe(true);
  });

  it('S5.50 ignores text from before the loop, unless the policy includes it', () => {
    const old = { text: '<promise>DONE</promise>', earlier: true };
    expect(isFound([old])).toBe(false);
    expect(isFound([old], 'DONE', { history: 'session' })).toBe(true);
  });
});

describe('the continuation', () => {
  it('S5.7 is the template of the document', () => {
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

  it('S5.17 S5.40 contains the new iteration, the maximum, the promise and the task', () => {
    const loop = play(promise(25), { runs: [exits(0), exits(0), claims()] });
    const text = promptOfRun(loop, '2.1', 'Fix all.');
    expect(text).toContain('[RALPH LOOP - ITERATION 2/25]');
    expect(text).toContain('output: <promise>DONE</promise>');
    expect(text.endsWith('Original task:\nFix all.')).toBe(true);
    expect(loop.waits[0]).toBe(500);
  });

  it('tells the agent that its promise was rejected, not that it made none', () => {
    const commands = [{ command: 'npm test', action: 'APPEND', hint: null }];
    const loop = play(
      { ...promise(), checks: { commands } },
      { runs: [claims(), exits(0), claims()], checks: [1, 1, 0] },
    );
    const [second, third] = ['2.1', '3.1'].map((run) => promptOfRun(loop, run, 'Fix all.'));
    expect(second).toContain('Your promise was rejected, because a check failed. Continue working on');
    expect(second).not.toContain('did not output');
    expect(third).toContain('Your previous attempt did not output the completion promise. Continue');
  });

  it('S5.17 fills in only the first occurrence of each placeholder', () => {
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

  it('S5.49 contains the task and the promise literally', () => {
    const loop = play(promise(), { runs: [exits(0), claims()] });
    const task = "costs $$5, $& $` $' $1 and {{MAX}} {{PROMISE}}";
    expect(promptOfRun(loop, '2.1', task).endsWith(`Original task:\n${task}`)).toBe(true);
    const odd = { ...promise(), completion: { detectors: [detector('$& $$ {{PROMPT}}')] } };
    const asked = promptOfRun(play(odd, { runs: [exits(0), claims()] }), '2.1', task);
    expect(asked).toContain('output: <promise>$& $$ {{PROMPT}}</promise>');
  });
});

describe('the loop', () => {
  it('S5.36 is done in the iteration with the promise', () => {
    const loop = play(promise(), { runs: [exits(0), claims()] });
    expect(loop.outcome?.type).toBe('done');
    expect(loop.state.iteration).toBe(2);
  });

  it('S5.37 stops at the limit', () => {
    expect(play(promise(3), { runs: [exits(0)] }).outcome).toEqual({
      type: 'iterations-exhausted',
      limit: 3,
    });
    expect(presets.promise.policy.limits.iterations).toBe(100);
  });

  it('S5.38 wants nothing else before the new iteration is in the journal', () => {
    const created = evolve(INITIAL, { type: 'loop.created', name: 'x', policy: policyOf(promise()), at: 1 });
    const wanted = decide(created);
    expect(wanted).toMatchObject([{ type: 'record', event: { type: 'iteration.started', iteration: 1 } }]);
    expect(decide(created)).toEqual(wanted);
    expect(decide(evolve(created, { type: 'iteration.started', iteration: 1, at: 2 }))).toMatchObject([
      { type: 'run' },
    ]);
  });

  it('S5.41 accepts a promise in the last permitted iteration', () => {
    expect(play(promise(3), { runs: [exits(0), exits(0), claims()] }).outcome?.type).toBe('done');
  });

  it('S5.42 injects N-1 continuations: the first iteration has the user’s own prompt', () => {
    const loop = play(promise(3), { runs: [exits(0)] });
    const injected = loop.started.filter(
      (effect) => effect.type === 'run' && effect.plan.sections.some(({ kind }) => kind === 'continuation'),
    );
    expect(injected).toHaveLength(2);
    expect(promptOfRun(loop, '1.1', 'Fix all.')).toBe('Fix all.');
  });

  it('S5.47 S5.48 completes, continues, stops at the limit and survives a restart at any point', () => {
    const loop = play(promise(4), { runs: [exits(0), exits(0), claims()] });
    expect(loop.outcome?.type).toBe('done');
    for (let index = 1; index < loop.journal.length; index++) {
      const limited = play(promise(4), { runs: [exits(0)] }, [], loop.journal.slice(0, index));
      expect(limited.outcome?.type).toBe(
        limited.journal.some(({ type }) => type === 'claim.made') ? 'done' : 'iterations-exhausted',
      );
      expect(limited.state.iteration).toBeLessThanOrEqual(4);
    }
  });
});
