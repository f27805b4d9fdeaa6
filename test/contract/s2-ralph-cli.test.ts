import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { commitMessage } from '../../src/loop/commit-message.ts';
import { renderPrompt, type PromptInputs, type Section } from '../../src/loop/prompt.ts';
import { presets } from '../../src/loop/presets.ts';
import { startScan, type PieceSource } from '../../src/loop/scan.ts';
import { nth, play, policyOf, type Tale } from '../rig/play.ts';
import { claims, exits } from '../rig/world.ts';

const check = (command: string, action = 'APPEND', hint: string | null = null) => ({ command, action, hint });
const cli = (more: object = {}) => ({ preset: 'ralph-cli', ...more });
const guarded = (...commands: object[]) => cli({ checks: { commands } });
const inputs = (more: Partial<PromptInputs> = {}): PromptInputs => ({
  base: 'Fix the parser.',
  isSpecification: false,
  diff: '',
  progress: '',
  messages: '',
  checkOutput: {},
  ...more,
});
const failed = (
  action: 'APPEND' | 'PREPEND' | 'REPLACE',
  index = 0,
  hint: string | null = null,
): Section => ({
  kind: 'failed-check',
  index,
  command: `check-${index}`,
  action,
  hint,
  code: 3,
  timedOut: false,
  log: `.ralph/guardrail_001_check_${index}.log`,
  excerpt: presets['ralph-cli'].policy.checks.excerpt,
});
const prompt = (sections: readonly Section[], more: Partial<PromptInputs> = {}) =>
  renderPrompt({ sections }, inputs(more));
const promptOfRun = (told: Tale, run: string, more: Partial<PromptInputs> = {}): string => {
  const effect = told.started.find((started) => started.type === 'run' && started.run === run);
  if (effect?.type !== 'run') throw new Error(`no run ${run}`);
  return renderPrompt(effect.plan, inputs(more));
};
const said = (text: string, source: PieceSource = 'assistant') =>
  startScan(presets['ralph-cli'].policy.completion.detectors)
    .read({ source, message: 'm', text })
    .claim(true) !== null;

it('S2.105 a tag over several lines completes nothing, and has a commit message in it', () => {
  for (const tag of ['<response>\nDONE\n</response>', '<response>DONE\n</response>']) {
    expect({ said: said(tag), message: commitMessage(tag) }).toEqual({ said: false, message: 'DONE' });
  }
  expect(said('<response>DONE</response>')).toBe(true);
});

describe('the loop', () => {
  it('S2.1 runs the agent until it gives the response, guarded by the guardrails, and commits what passed', () => {
    const told = play(
      cli({
        checks: { commands: [check('make test')] },
        commit: { command: 'git', tasks: ['commit', 'push'], message: 'agent', timeoutMs: null },
      }),
      { runs: [exits(0), claims(), exits(0)], checks: [1, 0] },
    );
    expect(told.outcome).toEqual({ type: 'done', verified: true, childrenLeft: [] });
    expect(told.runs).toEqual(['1.1', '2.1', '2.2']);
    expect(told.started.filter(({ type }) => type === 'commit')).toMatchObject([
      { key: 'commit:2', message: { run: '2.2' } },
    ]);
  });

  it('S2.45 goes prompt, agent, guardrails, and then looks for completion or shapes the next prompt', () => {
    const told = play(guarded(check('lint'), check('test')), {
      runs: [exits(0), claims()],
      checks: [1, 0, 0, 0],
    });
    expect(told.journal.map(({ type }) => type).filter((type) => !/output|timer/.test(type))).toEqual([
      'loop.created',
      'iteration.started',
      'run.planned',
      'run.started',
      'run.ended',
      'checks.started',
      'check.finished',
      'check.finished',
      'checkpoint.taken',
      'iteration.started',
      'run.planned',
      'run.started',
      'run.ended',
      'checks.started',
      'check.finished',
      'check.finished',
      'claim.made',
      'claim.accepted',
      'checkpoint.taken',
      'loop.ended',
    ]);
    expect(promptOfRun(told, '2.1')).toContain('Guardrail "lint" failed with exit code 1.');
  });

  it('S2.46 exits 1 when the iterations are used up', () => {
    const told = play(cli({ limits: { iterations: 3 } }), { runs: [exits(0)] });
    expect(told.runs).toHaveLength(3);
    expect(told.exitCode).toBe(1);
    expect(presets['ralph-cli'].policy.limits.iterations).toBe(10);
  });

  it('S2.73 looks for a cancellation between iterations: the running agent finishes, no other starts', () => {
    const told = play(cli(), { runs: [exits(0)] }, [
      { after: nth('run.started', 2), control: { type: 'signal', signal: 'SIGINT' } },
    ]);
    expect(told.runs).toEqual(['1.1', '2.1']);
    expect(told.journal.findLast(({ type }) => type === 'run.ended')).toMatchObject({
      ending: { how: 'exited', code: 0 },
    });
    expect(told.outcome).toEqual({ type: 'stopped', by: 'signal' });
    expect(told.exitCode).toBe(130);
  });

  it('S2.73 lets the guardrail that is running finish, and starts no other', () => {
    const told = play(guarded(check('a'), check('b'), check('c')), { runs: [exits(0)] }, [
      { after: nth('check.finished'), control: { type: 'signal', signal: 'SIGTERM' } },
    ]);
    expect(told.journal.filter(({ type }) => type === 'check.finished')).toHaveLength(2);
    expect(told.exitCode).toBe(130);
  });

  it('S2.88 has no time limit for a run and no retry beyond the loop itself', () => {
    const { timeouts, checks } = presets['ralph-cli'].policy;
    expect({ ...timeouts, checks: checks.timeoutMs }).toMatchObject({
      runMs: null,
      inactivityMs: null,
      checks: null,
    });
  });
});

describe('the prompt', () => {
  it('S2.42 takes the base prompt as it is, whatever is in it', () => {
    const base = '  $HOME `x` "q" \'a\' {{MAX}} $& \\n\n';
    expect(prompt([{ kind: 'base' }], { base })).toBe(base);
    const told = play(cli({ limits: { iterations: 2 } }), { runs: [exits(0)] });
    expect(promptOfRun(told, '1.1', { base: 'old' })).toBe('old');
    expect(promptOfRun(told, '2.1', { base: 'edited meanwhile' })).toBe('edited meanwhile');
  });

  it('S2.43 puts the failure behind or before the base prompt, two newlines between', () => {
    const text = (action: 'APPEND' | 'PREPEND') =>
      prompt([{ kind: 'base' }, failed(action)], { checkOutput: { 0: 'boom' } });
    expect(text('APPEND')).toMatch(/^Fix the parser\.\n\nGuardrail "check-0"[^]*\nboom$/);
    expect(text('PREPEND')).toMatch(/^Guardrail "check-0"[^]*\nboom\n\nFix the parser\.$/);
  });

  it('S2.44 opens with the count, outermost', () => {
    const count: Section = { kind: 'iteration-count', iteration: 2, limit: 5 };
    for (const action of ['APPEND', 'PREPEND', 'REPLACE'] as const) {
      expect(prompt([{ kind: 'base' }, failed(action), count])).toMatch(
        /^Iteration 2 of 5, 3 remaining\.\n\n/,
      );
    }
    expect(prompt([{ kind: 'base' }, count])).toBe('Iteration 2 of 5, 3 remaining.\n\nFix the parser.');
  });

  it('S2.47 replaces the whole prompt', () => {
    expect(prompt([{ kind: 'base' }, failed('REPLACE')])).toMatch(/^Guardrail/);
    expect(prompt([{ kind: 'base' }, failed('REPLACE')])).not.toContain('Fix the parser');
  });

  it('S2.100 applies the actions in the order of the guardrails: a late REPLACE wipes what came before', () => {
    const text = prompt([{ kind: 'base' }, failed('APPEND', 0), failed('REPLACE', 1), failed('PREPEND', 2)]);
    expect(text.match(/check-\d" failed/g)).toEqual(['check-2" failed', 'check-1" failed']);
  });

  it('S2.48 tells a failure once: the prompt after a green iteration is the bare base prompt', () => {
    const told = play(guarded(check('t')), { runs: [exits(0)], checks: [1, 0] });
    expect(promptOfRun(told, '2.1')).toContain('failed');
    expect(promptOfRun(told, '3.1')).toBe('Fix the parser.');
    const twice = play(guarded(check('t')), { runs: [exits(0)], checks: [1] });
    expect(promptOfRun(twice, '3.1').match(/Guardrail/g)).toHaveLength(1);
  });

  it('S2.60 has the five lines', () => {
    expect(prompt([failed('REPLACE', 0, 'Use the mock.')], { checkOutput: { 0: 'line 1\nline 2' } })).toBe(
      [
        'Guardrail "check-0" failed with exit code 3.',
        'Hint: Use the mock.',
        'Output file: .ralph/guardrail_001_check_0.log',
        'Output (truncated):',
        'line 1\nline 2',
      ].join('\n'),
    );
  });

  it('S2.61 shows a hint only where there is one, literally and in full', () => {
    const hint = `{{MAX}} $& ${'h'.repeat(9000)}`;
    expect(prompt([failed('REPLACE', 0, hint)], { checkOutput: { 0: 'x'.repeat(9000) } })).toContain(
      `Hint: ${hint}\n`,
    );
    expect(prompt([failed('REPLACE')])).not.toContain('Hint:');
  });
});

describe('completion', () => {
  it('S2.49 S2.50 wants the tag with the response in it, in any case', () => {
    expect(said('All good.\n<response>DONE</response>\n')).toBe(true);
    expect(said('<RESPONSE> done </Response>')).toBe(true);
    expect(said('DONE')).toBe(false);
    expect(said('<response>DONE!</response>')).toBe(false);
  });

  it('S2.51 looks at the first tag only', () => {
    expect(said('<response>not yet</response> <response>DONE</response>')).toBe(false);
    expect(said('<response>DONE</response> <response>not yet</response>')).toBe(true);
  });

  it('S2.52 does not cross a newline and takes the shortest match', () => {
    expect(said('<response>\nDONE</response>')).toBe(false);
    expect(said('<response>\n<response>DONE</response>')).toBe(true);
    expect(said('<response>x<response>DONE</response>')).toBe(false);
  });

  const heard = (...pieces: readonly (readonly [PieceSource, string, string])[]): boolean =>
    pieces
      .reduce(
        (scanner, [source, message, text]) => scanner.read({ source, message, text }),
        startScan(presets['ralph-cli'].policy.completion.detectors),
      )
      .claim(true) !== null;

  it('S2.103 looks at the result where there is one, else at the last message; raw output only without a stream', () => {
    expect(heard(['assistant', '1', '<response>DONE</response>'], ['answer', 'a', 'Not yet.'])).toBe(false);
    expect(heard(['assistant', '1', 'x'], ['answer', 'a', 'All. <response>done</response>'])).toBe(true);
    expect(heard(['assistant', '1', 'x'], ['assistant', '2', '<response>DONE</response>'])).toBe(true);
    expect(heard(['answer', 'a', ' \n done \n'])).toBe(true);
    expect(heard(['answer', 'a', 'Do'], ['answer', 'a', 'NE '], ['answer', 'a', ' \n'])).toBe(true);
    expect(heard(['raw', '', '<response>DONE</response>'], ['answer', 'a', 'No.'])).toBe(false);
  });

  it('S2.104 does not take a word at the end of the result for the response', () => {
    expect(heard(['answer', 'a', 'It is DONE'])).toBe(false);
    expect(heard(['answer', 'a', 'DONE.'])).toBe(false);
    expect(heard(['answer', 'a', 'DONE'], ['answer', 'a', ' soon'])).toBe(false);
  });

  it('S2.53 does not complete an iteration whose guardrails failed', () => {
    const told = play(guarded(check('t')), { runs: [claims()], checks: [1, 1, 0] });
    expect(told.runs).toEqual(['1.1', '2.1', '3.1']);
    expect(told.journal.filter(({ type }) => type.startsWith('claim.')).map(({ type }) => type)).toEqual([
      'claim.made',
      'claim.rejected',
      'claim.made',
      'claim.rejected',
      'claim.made',
      'claim.accepted',
    ]);
  });

  it('S2.92 tests every module of the core: merge and validation, the tag, the fail actions, truncation', () => {
    const folder = new URL('../../src/loop/', import.meta.url);
    const modules = readdirSync(folder).filter((file) => !file.endsWith('.test.ts'));
    const read = (file: string) => readFileSync(new URL(file, folder), 'utf8');
    const reached = new Set<string>();
    const follow = (text: string): void => {
      for (const [, file = ''] of text.matchAll(/from '\.\/([\w-]+\.ts)'/g)) {
        if (reached.has(file)) continue;
        reached.add(file);
        follow(read(file));
      }
    };
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.test.ts'))) follow(read(file));
    expect(modules.filter((file) => !reached.has(file))).toEqual([]);
    expect(policyOf(cli())).toEqual(presets['ralph-cli'].policy);
  });

  it('S2.98 counts a non-zero exit as a failure with backoff; the fifth in a row ends the loop', () => {
    const told = play(cli(), { runs: [exits(1)] });
    expect(told.outcome).toEqual({ type: 'failures-exhausted', failures: 5 });
    expect(told.waits).toEqual([1000, 2000, 4000, 8000]);
    expect(told.started.some(({ type }) => type === 'check')).toBe(false);
  });
});
