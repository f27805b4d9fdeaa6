import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { commitMessage } from '../../src/loop/commit-message.ts';
import { renderPrompt, type PromptInputs, type Section } from '../../src/loop/prompt.ts';
import { presets } from '../../src/loop/presets.ts';
import { startScan, type PieceSource } from '../rig/scan.ts';
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
const promptOfRun = (loop: Tale, run: string, more: Partial<PromptInputs> = {}): string => {
  const effect = loop.started.find((started) => started.type === 'run' && started.run === run);
  if (effect?.type !== 'run') throw new Error(`no run ${run}`);
  return renderPrompt(effect.plan, inputs(more));
};
const isClaim = (text: string, source: PieceSource = 'assistant') =>
  startScan(presets['ralph-cli'].policy.completion.detectors)
    .read({ source, message: 'm', text })
    .claim(true) !== null;

it('S2.105 a tag over several lines is not a claim, but contains a commit message', () => {
  for (const tag of ['<response>\nDONE\n</response>', '<response>DONE\n</response>']) {
    expect({ said: isClaim(tag), message: commitMessage(tag) }).toEqual({ said: false, message: 'DONE' });
  }
  expect(isClaim('<response>DONE</response>')).toBe(true);
});

describe('the loop', () => {
  it('S2.1 runs the agent until it gives the response and the guardrails pass, then commits', () => {
    const loop = play(
      cli({
        checks: { commands: [check('make test')] },
        commit: { command: 'git', tasks: ['commit', 'push'], message: 'agent', timeoutMs: null },
      }),
      { runs: [exits(0), claims(), exits(0)], checks: [1, 0] },
    );
    expect(loop.outcome).toEqual({ type: 'done', verified: true, childrenLeft: [] });
    expect(loop.runs).toEqual(['1.1', '2.1', '2.2']);
    expect(loop.started.filter(({ type }) => type === 'commit')).toMatchObject([
      { key: 'commit:2', message: { run: '2.2' } },
    ]);
  });

  it('S2.45 renders the prompt, runs the agent and the guardrails, then completes or extends the next prompt', () => {
    const loop = play(guarded(check('lint'), check('test')), {
      runs: [exits(0), claims()],
      checks: [1, 0, 0, 0],
    });
    expect(loop.journal.map(({ type }) => type).filter((type) => !/output|timer/.test(type))).toEqual([
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
    expect(promptOfRun(loop, '2.1')).toContain('Guardrail "lint" failed with exit code 1.');
  });

  it('S2.46 exits with 1 at the iteration limit', () => {
    const loop = play(cli({ limits: { iterations: 3 } }), { runs: [exits(0)] });
    expect(loop.runs).toHaveLength(3);
    expect(loop.exitCode).toBe(1);
    expect(presets['ralph-cli'].policy.limits.iterations).toBe(10);
  });

  it('S2.73 stops between iterations: the running agent finishes, and no other starts', () => {
    const loop = play(cli(), { runs: [exits(0)] }, [
      { after: nth('run.started', 2), control: { type: 'signal', signal: 'SIGINT' } },
    ]);
    expect(loop.runs).toEqual(['1.1', '2.1']);
    expect(loop.journal.findLast(({ type }) => type === 'run.ended')).toMatchObject({
      ending: { how: 'exited', code: 0 },
    });
    expect(loop.outcome).toMatchObject({ type: 'stopped', by: 'signal' });
    expect(loop.exitCode).toBe(130);
  });

  it('S2.73 lets a running guardrail finish, and starts no other', () => {
    const loop = play(guarded(check('a'), check('b'), check('c')), { runs: [exits(0)] }, [
      { after: nth('check.finished'), control: { type: 'signal', signal: 'SIGTERM' } },
    ]);
    expect(loop.journal.filter(({ type }) => type === 'check.finished')).toHaveLength(2);
    expect(loop.exitCode).toBe(130);
  });

  it('S2.88 has no timeout for a run and no retry beyond the loop itself', () => {
    const { timeouts, checks } = presets['ralph-cli'].policy;
    expect({ ...timeouts, checks: checks.timeoutMs }).toMatchObject({
      runMs: null,
      inactivityMs: null,
      checks: null,
    });
  });

  it('S2.98 counts a non-zero exit as a failure with backoff; the fifth consecutive failure ends the loop', () => {
    const loop = play(cli(), { runs: [exits(1)] });
    expect(loop.outcome).toEqual({ type: 'failures-exhausted', failures: 5 });
    expect(loop.waits).toEqual([1000, 2000, 4000, 8000]);
    expect(loop.started.some(({ type }) => type === 'check')).toBe(false);
  });
});

describe('the prompt', () => {
  it('S2.42 contains the current base prompt verbatim', () => {
    const base = '  $HOME `x` "q" \'a\' {{MAX}} $& \\n\n';
    expect(prompt([{ kind: 'base' }], { base })).toBe(base);
    const loop = play(cli({ limits: { iterations: 2 } }), { runs: [exits(0)] });
    expect(promptOfRun(loop, '1.1', { base: 'old' })).toBe('old');
    expect(promptOfRun(loop, '2.1', { base: 'edited meanwhile' })).toBe('edited meanwhile');
  });

  it('S2.43 has the failure after or before the base prompt, with two newlines between them', () => {
    const text = (action: 'APPEND' | 'PREPEND') =>
      prompt([{ kind: 'base' }, failed(action)], { checkOutput: { 0: 'boom' } });
    expect(text('APPEND')).toMatch(/^Fix the parser\.\n\nGuardrail "check-0"[^]*\nboom$/);
    expect(text('PREPEND')).toMatch(/^Guardrail "check-0"[^]*\nboom\n\nFix the parser\.$/);
  });

  it('S2.44 starts with the iteration count, before any failure', () => {
    const count: Section = { kind: 'iteration-count', iteration: 2, limit: 5 };
    for (const action of ['APPEND', 'PREPEND', 'REPLACE'] as const) {
      expect(prompt([{ kind: 'base' }, failed(action), count])).toMatch(
        /^Iteration 2 of 5, 3 remaining\.\n\n/,
      );
    }
    expect(prompt([{ kind: 'base' }, count])).toBe('Iteration 2 of 5, 3 remaining.\n\nFix the parser.');
  });

  it('S2.47 is only the failure of a guardrail with REPLACE', () => {
    expect(prompt([{ kind: 'base' }, failed('REPLACE')])).toMatch(/^Guardrail/);
    expect(prompt([{ kind: 'base' }, failed('REPLACE')])).not.toContain('Fix the parser');
  });

  it('S2.100 applies the actions in the order of the guardrails: a REPLACE removes earlier failures', () => {
    const text = prompt([{ kind: 'base' }, failed('APPEND', 0), failed('REPLACE', 1), failed('PREPEND', 2)]);
    expect(text.match(/check-\d" failed/g)).toEqual(['check-2" failed', 'check-1" failed']);
  });

  it('S2.48 contains a failure once: after an iteration without failures it is the base prompt alone', () => {
    const loop = play(guarded(check('t')), { runs: [exits(0)], checks: [1, 0] });
    expect(promptOfRun(loop, '2.1')).toContain('failed');
    expect(promptOfRun(loop, '3.1')).toBe('Fix the parser.');
    const twice = play(guarded(check('t')), { runs: [exits(0)], checks: [1] });
    expect(promptOfRun(twice, '3.1').match(/Guardrail/g)).toHaveLength(1);
  });

  it('S2.60 describes a failure in five lines', () => {
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

  it('S2.60 also names the iteration of a failure, if a failed run has come after it', () => {
    const loop = play(guarded(check('t')), { runs: [exits(0), exits(9), exits(0)], checks: [1] });
    expect(promptOfRun(loop, '2.1')).not.toContain('iteration');
    expect(promptOfRun(loop, '3.1')).toMatch(
      /\n\nGuardrail "t" failed with exit code 1\.\nThis is from iteration 1\. The checks have not run since then\.\nOutput file: /,
    );
    expect(promptOfRun(loop, '4.1')).not.toContain('iteration');
  });

  it('S2.61 contains a hint verbatim and in full, and no hint line without one', () => {
    const hint = `{{MAX}} $& ${'h'.repeat(9000)}`;
    expect(prompt([failed('REPLACE', 0, hint)], { checkOutput: { 0: 'x'.repeat(9000) } })).toContain(
      `Hint: ${hint}\n`,
    );
    expect(prompt([failed('REPLACE')])).not.toContain('Hint:');
  });
});

describe('completion', () => {
  it('S2.49 S2.50 needs the tag with the response in it, in upper or lower case', () => {
    expect(isClaim('All good.\n<response>DONE</response>\n')).toBe(true);
    expect(isClaim('<RESPONSE> done </Response>')).toBe(true);
    expect(isClaim('DONE')).toBe(false);
    expect(isClaim('<response>DONE!</response>')).toBe(false);
  });

  it('S2.51 depends on the first tag only', () => {
    expect(isClaim('<response>not yet</response> <response>DONE</response>')).toBe(false);
    expect(isClaim('<response>DONE</response> <response>not yet</response>')).toBe(true);
  });

  it('S2.52 does not match across a newline, and takes the shortest match', () => {
    expect(isClaim('<response>\nDONE</response>')).toBe(false);
    expect(isClaim('<response>\n<response>DONE</response>')).toBe(true);
    expect(isClaim('<response>x<response>DONE</response>')).toBe(false);
  });

  const isClaimIn = (...pieces: readonly (readonly [PieceSource, string, string])[]): boolean =>
    pieces
      .reduce(
        (scanner, [source, message, text]) => scanner.read({ source, message, text }),
        startScan(presets['ralph-cli'].policy.completion.detectors),
      )
      .claim(true) !== null;

  it('S2.49 S2.103 reads the whole text of an agent whose stream has no result of its own', () => {
    const earlier = ['assistant', '1', 'All good. <response>DONE</response>'] as const;
    expect(isClaimIn(earlier, ['assistant', '2', 'Bye.'])).toBe(true);
    expect(isClaimIn(earlier, ['assistant', '2', 'Bye.'], ['last-message', 'a', 'Bye.'])).toBe(true);
    expect(isClaimIn(['assistant', '1', '<respon'], ['assistant', '2', 'se>DONE</response>'])).toBe(true);
    expect(isClaimIn(['assistant', '1', 'Hm.'], ['last-message', 'a', 'done'])).toBe(true);
    expect(isClaimIn(['assistant', '1', '<response>no</response>'], ['assistant', '2', 'Bye.'])).toBe(false);
    const later = ['assistant', '2', '<response>DONE</response>'] as const;
    expect(isClaimIn(['assistant', '1', '<response>no</response>'], later)).toBe(true);
    expect(isClaimIn(earlier, ['answer', 'a', 'Bye.'], ['assistant', '3', 'And more.'])).toBe(false);
  });

  it('S2.103 reads the result if there is one, else the last message; raw output only without a stream', () => {
    expect(isClaimIn(['assistant', '1', '<response>DONE</response>'], ['answer', 'a', 'Not yet.'])).toBe(
      false,
    );
    expect(isClaimIn(['assistant', '1', 'x'], ['answer', 'a', 'All. <response>done</response>'])).toBe(true);
    expect(isClaimIn(['assistant', '1', 'x'], ['assistant', '2', '<response>DONE</response>'])).toBe(true);
    expect(isClaimIn(['answer', 'a', ' \n done \n'])).toBe(true);
    expect(isClaimIn(['answer', 'a', 'Do'], ['answer', 'a', 'NE '], ['answer', 'a', ' \n'])).toBe(true);
    expect(isClaimIn(['raw', '', '<response>DONE</response>'], ['answer', 'a', 'No.'])).toBe(false);
  });

  it('S2.104 needs the response as the whole result, not as its last word', () => {
    expect(isClaimIn(['answer', 'a', 'It is DONE'])).toBe(false);
    expect(isClaimIn(['answer', 'a', 'DONE.'])).toBe(false);
    expect(isClaimIn(['answer', 'a', 'DONE'], ['answer', 'a', ' soon'])).toBe(false);
  });

  it('S2.53 rejects a claim while a guardrail fails', () => {
    const loop = play(guarded(check('t')), { runs: [claims()], checks: [1, 1, 0] });
    expect(loop.runs).toEqual(['1.1', '2.1', '3.1']);
    expect(loop.journal.filter(({ type }) => type.startsWith('claim.')).map(({ type }) => type)).toEqual([
      'claim.made',
      'claim.rejected',
      'claim.made',
      'claim.rejected',
      'claim.made',
      'claim.accepted',
    ]);
  });
});

it('S2.92 the unit tests reach every module of the core', () => {
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
