import { describe, expect, it } from 'vitest';
import { searchInTime } from '../../test/rig/scan.ts';
import { presets } from './presets.ts';
import { renderPrompt, type PromptInputs, type Section } from './prompt.ts';
import { startScan } from './scan.ts';

const inputs: PromptInputs = {
  base: 'Fix it.',
  isSpecification: false,
  diff: '',
  progress: '',
  messages: '',
  checkOutput: {},
};
const render = (sections: readonly Section[], more: Partial<PromptInputs> = {}) =>
  renderPrompt({ sections }, { ...inputs, ...more });
const howToClaim = {
  kind: 'how-to-claim',
  tag: '<promise>DONE</promise>',
  word: null,
  marker: 'DONE',
  checks: ['npm test'],
  missed: null,
} as const;

describe('renderPrompt', () => {
  it('joins sections by a blank line and leaves out empty ones', () => {
    expect(render([{ kind: 'base' }, { kind: 'messages' }, { kind: 'progress' }])).toBe('Fix it.');
    expect(render([{ kind: 'base' }, { kind: 'messages' }], { messages: 'INFO: hello' })).toBe(
      'Fix it.\n\n## Messages\n\nNew messages on the message bus of this task, from people and agents. `ralph bus read` prints earlier ones too.\n\nINFO: hello',
    );
  });

  it('inserts text from people, checks and files literally', () => {
    const odd = "$& $$ $` $' {{MAX}} {{PROMPT}} ${x} `id`";
    const everything: Section[] = [
      { kind: 'base' },
      {
        kind: 'failed-check',
        index: 0,
        command: odd,
        action: 'APPEND',
        hint: odd,
        code: 1,
        timedOut: false,
        log: odd,
        excerpt: { side: 'tail', chars: null, marker: '' },
      },
      { kind: 'guidance', texts: [odd] },
      {
        kind: 'continuation',
        template: '{{ITERATION}} {{MAX}} {{PROMISE}} {{PROMPT}}',
        iteration: 2,
        limit: 3,
        promise: odd,
      },
    ];
    const text = render(everything, { base: odd, checkOutput: { 0: odd } });
    expect(text.startsWith(`2 3 ${odd} ${odd}\n\nGuardrail "${odd}"`)).toBe(true);
    expect(text.split(odd)).toHaveLength(8);
  });

  it('says how to claim without being a claim itself when it is echoed', () => {
    const text = render([{ kind: 'base' }, howToClaim]);
    expect(text).toContain('<promise>DONE</promise>');
    expect(text).toContain('RALPH_DONE_FILE');
    expect(text).toContain('`npm test`');
    const { detectors } = presets.default.policy.completion;
    expect(
      startScan(detectors, searchInTime).read({ source: 'assistant', message: 'echo', text }).claim(true),
    ).toBeNull();
    expect(text.split('\n').every((line) => line.trim() !== '<promise>DONE</promise>')).toBe(true);
  });

  it('says that no check verifies the claim if there are none', () => {
    expect(render([{ ...howToClaim, checks: [] }])).toContain('No automatic check verifies it');
  });

  it('passes on all guidance in order', () => {
    expect(render([{ kind: 'base' }, { kind: 'guidance', texts: ['first', 'second'] }])).toMatch(
      /Fix it\.\n\n.*\n\nfirst\n\nsecond$/,
    );
  });

  it('nudges with the number of iterations that changed nothing', () => {
    expect(render([{ kind: 'nudge', unchanged: 3, verdict: 'failing', ways: null }])).toContain(
      'The last 3 iterations made no progress: the files and the check results were the same as after an earlier iteration.',
    );
  });

  it('counts iterations without a limit', () => {
    expect(render([{ kind: 'base' }, { kind: 'iteration-count', iteration: 4, limit: null }])).toBe(
      'Iteration 4.\n\nFix it.',
    );
  });

  it('says that a check timed out instead of inventing an exit code', () => {
    const check: Section = {
      kind: 'failed-check',
      index: 0,
      command: 'slow',
      action: 'REPLACE',
      hint: null,
      code: null,
      timedOut: true,
      log: 'l',
      excerpt: { side: 'tail', chars: 9, marker: '' },
    };
    expect(render([check]).split('\n')[0]).toBe('Guardrail "slow" failed: it timed out.');
    expect(render([{ ...check, timedOut: false }])).toContain('its exit code is unknown');
  });

  it('fences output so that it cannot close its fence', () => {
    const diff: Section = { kind: 'diff', excerpt: { side: 'head', chars: null, marker: '' } };
    expect(render([diff], { diff: '+````\n+code' })).toContain('`````diff\n+````\n+code\n`````');
  });
});
