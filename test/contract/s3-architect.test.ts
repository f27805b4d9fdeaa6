import { describe, expect, it } from 'vitest';
import type { Cost } from '../../src/loop/event.ts';
import { stopReason } from '../../src/loop/outcome.ts';
import { presets } from '../../src/loop/presets.ts';
import { renderPrompt, type PromptInputs } from '../../src/loop/prompt.ts';
import { report } from '../../src/loop/report.ts';
import { startScan } from '../rig/scan.ts';
import { describeProblem, resolvePolicy } from '../../src/loop/validate.ts';
import { play, type Tale } from '../rig/play.ts';
import { claims, exits } from '../rig/world.ts';

const commands = [
  { command: 'pytest', action: 'APPEND', hint: null },
  { command: 'ruff check', action: 'APPEND', hint: null },
];
const architect = (limits: object = {}) => ({ preset: 'architect', checks: { commands }, limits });
const costs = (usd: number) => ({ output: { cost: { usd, source: 'reported' } satisfies Cost, steps: 4 } });
const promptOfRun = (loop: Tale, run: string, inputs: Partial<PromptInputs> = {}): string => {
  const effect = loop.started.find((started) => started.type === 'run' && started.run === run);
  if (effect?.type !== 'run') throw new Error(`no run ${run}`);
  const empty = {
    base: 'Add login.',
    isSpecification: false,
    diff: '',
    progress: '',
    messages: '',
    checkOutput: {},
  };
  return renderPrompt(effect.plan, { ...empty, ...inputs });
};
const headings = (text: string) => text.match(/^##+ .*$/gm);
/** What the loop did, but for its looks at the files, which the document does not mention. */
const steps = ({ started }: Tale) => started.flatMap(({ type, key }) => (type === 'probe' ? [] : [key]));
const reason = ({ outcome }: Tale) => (outcome === null ? null : stopReason(outcome));
const answered = (text: string) =>
  startScan(presets.architect.policy.completion.detectors)
    .read({ source: 'assistant', message: 'm', text })
    .claim(true) !== null;

describe('the loop', () => {
  it('S3.1 S3.18 starts a new agent for every iteration until the checks pass', () => {
    const loop = play(architect(), { runs: [claims()], checks: [1, 0, 0, 1, 0, 0] });
    expect(loop.runs).toEqual(['1.1', '2.1', '3.1']);
    expect(loop.outcome).toEqual({ type: 'done', verified: true, childrenLeft: [] });
  });

  it('S3.16 runs the agent, then the checks, and accepts a claim before it looks at the limits', () => {
    const loop = play(architect({ iterations: 1 }), { runs: [claims()], checks: [0] });
    expect(reason(loop)).toBe('all_checks_passed');
    expect(steps(loop)).toEqual(['run:1.1', 'check:1.1', 'check:1.2', 'checkpoint:1']);
  });

  it('rejects a configuration without checks', () => {
    const refused = resolvePolicy({ preset: 'architect' });
    expect(refused.ok ? [] : refused.problems.map(describeProblem)).toEqual([
      'checks.commands is required and must be at least one shell command, such as "npm test" (preset architect ends only when its checks pass)',
    ]);
    expect(resolvePolicy(architect()).ok).toBe(true);
  });

  it('S3.54 records a failed agent, runs no checks, and continues', () => {
    const loop = play(architect(), { runs: [exits(1), claims()] });
    expect(steps(loop)).toEqual([
      'run:1.1',
      'checkpoint:1',
      'wait:1.1',
      'run:2.1',
      'check:2.1',
      'check:2.2',
      'checkpoint:2',
    ]);
    expect(report(loop.journal).iterations[0]).toMatchObject({
      error: 'agent exited with code 1',
      checkResults: [],
    });
    expect(promptOfRun(loop, '2.1')).toContain('## Execution Error\n\n```\nagent exited with code 1\n```');
  });
});

describe('the prompt', () => {
  const loop = play(architect(), { runs: [exits(0)], checks: [1, 0] });
  const world = {
    diff: 'diff --git a b',
    progress: '## Iteration 1 — FAIL',
    checkOutput: { 0: `${'x'.repeat(3000)}the end`, 1: 'unused' },
  };

  it('S3.2 S3.17 S3.48 has task, instructions, diff, failed checks and progress, in this order', () => {
    const text = promptOfRun(loop, '2.1', world);
    expect(headings(text)).toEqual([
      '## Task',
      '## Iteration Instructions',
      '## Changes from Previous Iterations',
      '## Errors from Previous Iteration',
      '### pytest',
      '## Accumulated Progress',
      '## Iteration 1 — FAIL',
    ]);
    expect(text).toContain('This is **iteration 2/25** of an automatic correction loop.');
    expect(text).toContain('`COMPLETE`');
    expect(text).toContain('**Checks your code must pass:**\n- `pytest`\n- `ruff check`');
    expect(text).not.toContain('unused');
  });

  it('S3.17 truncates the diff to its first 5000 characters and every check to its last 2000', () => {
    const text = promptOfRun(loop, '2.1', { ...world, diff: `${'d'.repeat(5000)}CUT` });
    expect(text).toContain(`\`\`\`diff\n${'d'.repeat(5000)}\n... (diff truncated)\n\`\`\``);
    expect(text).toContain(`\n${'x'.repeat(1993)}the end\n`);
    expect(text).not.toContain('x'.repeat(1994));
  });

  it('S3.15 contains the specification instead of the task', () => {
    const text = promptOfRun(loop, '1.1', { base: 'The spec.', isSpecification: true });
    expect(text.startsWith('## Task Specification\n\nThe spec.\n\n')).toBe(true);
    expect(text).not.toContain('Add login.');
  });

  it('S3.29 S3.50 contains the progress file unless it is blank, and only the checks that failed', () => {
    expect(promptOfRun(loop, '1.1', { progress: 'left over' })).toContain(
      '## Accumulated Progress\n\nleft over',
    );
    expect(promptOfRun(loop, '1.1', { progress: '  \n' })).not.toContain('Accumulated');
    expect(promptOfRun(loop, '2.1', world)).not.toContain('### ruff check');
  });

  it('S3.50 has the exit code of a failed check that printed nothing', () => {
    const text = promptOfRun(loop, '2.1', { ...world, checkOutput: { 0: ' \n' } });
    expect(text).toContain('### pytest\nIt printed nothing: it failed with exit code 1.');
  });

  it('S3.17 names the iteration of check errors, if a failed run has come after them', () => {
    const failing = play(architect(), { runs: [exits(0), exits(9), exits(9), exits(0)], checks: [1] });
    expect(headings(promptOfRun(failing, '2.1', world))).toContain('## Errors from Previous Iteration');
    for (const run of ['3.1', '4.1'])
      expect(promptOfRun(failing, run, world)).toContain(
        '## Errors from Iteration 1\n\nThe checks have not run since then.\n\n### pytest\n',
      );
    expect(headings(promptOfRun(failing, '5.1', world))).toContain('## Errors from Previous Iteration');
  });

  it('S3.2 still names the checks that failed before the loop, if the first run fails', () => {
    const policy = { ...architect(), checks: { commands, baseline: true } };
    const failing = play(policy, { runs: [exits(9), exits(0)], checks: [1, 0] });
    expect(promptOfRun(failing, '1.1', world)).toContain('## Checks That Fail Already\n\n### pytest');
    expect(promptOfRun(failing, '2.1', world)).toContain(
      '## Checks That Fail Already\n\nThe checks have not run since then.\n\n### pytest',
    );
  });

  it('S3.50 has the end of what a failed agent printed on stderr, unless the error says it', () => {
    const failing = play(architect(), { runs: [exits(1)] });
    const error = '## Execution Error\n\n```\nagent exited with code 1\n```';
    expect(promptOfRun(failing, '2.1', { stderr: `${'x'.repeat(3000)}the end\n` })).toContain(
      `${error}\n\nThe end of what the agent printed on stderr:\n\n\`\`\`\n${'x'.repeat(1993)}the end\n\`\`\``,
    );
    for (const stderr of ['', ' \n', 'exited with code 1\n'])
      expect(promptOfRun(failing, '2.1', { stderr })).not.toContain('stderr');
  });

  it('S3.49 has no diff in the first iteration or if the diff is empty', () => {
    expect(promptOfRun(loop, '1.1', world)).not.toContain('Changes');
    expect(promptOfRun(loop, '2.1', { diff: ' \n' })).not.toContain('Changes');
  });
});

describe('success', () => {
  it('S3.19 needs the word in the final answer', () => {
    expect(answered('Everything is COMPLETE.')).toBe(true);
    expect(answered('complete')).toBe(false);
    const scanned = startScan(presets.architect.policy.completion.detectors)
      .read({ source: 'assistant', message: '1', text: 'COMPLETE' })
      .read({ source: 'assistant', message: '2', text: 'No, wait.' });
    expect(scanned.claim(true)).toBeNull();
  });

  it('S3.53 finds the word only where it stands alone, so INCOMPLETE is no completion', () => {
    for (const answer of ['COMPLETE', 'COMPLETE.', '**COMPLETE**', 'It is `COMPLETE`', 'NOT COMPLETE'])
      expect([answer, answered(answer)]).toEqual([answer, true]);
    for (const answer of ['INCOMPLETE', 'COMPLETED', 'NOT_COMPLETE', 'COMPLETE2', 'ÜCOMPLETE', 'COMPLETEд'])
      expect([answer, answered(answer)]).toEqual([answer, false]);
    expect(answered('INCOMPLETE so far, now COMPLETE')).toBe(true);
  });

  it('S3.20 needs both the word and passing checks: with only one of them the loop continues', () => {
    expect(play(architect({ iterations: 3 }), { runs: [exits(0)], checks: [0] }).runs).toHaveLength(3);
    expect(play(architect({ iterations: 3 }), { runs: [claims()], checks: [1] }).runs).toHaveLength(3);
  });
});

describe('the limit check', () => {
  it('S3.21 S3.55 looks at iterations, then cost, then time', () => {
    const spent = { runs: [exits(0, { ...costs(9), ms: 5000 })], checks: [1] };
    const limits = { iterations: 1, costUsd: 1, timeMs: 1000 };
    expect(reason(play(architect(limits), spent))).toBe('max_iterations');
    expect(reason(play(architect({ ...limits, iterations: 9 }), spent))).toBe('budget_exhausted');
    expect(reason(play(architect({ ...limits, iterations: 9, costUsd: 99 }), spent))).toBe('timeout');
  });

  it('S3.30 ends the loop after N iterations', () => {
    expect(play(architect({ iterations: 4 }), { runs: [exits(0)], checks: [1] }).runs).toHaveLength(4);
    expect(presets.architect.policy.limits.iterations).toBe(25);
  });

  it('S3.31 S3.55 ends the loop when the cost reaches its limit: twice 0.05 is 0.10', () => {
    const loop = play(architect({ costUsd: 0.1 }), { runs: [exits(0, costs(0.05))], checks: [1] });
    expect(loop.runs).toHaveLength(2);
    expect(loop.outcome).toMatchObject({ type: 'cost-exhausted', limitUsd: 0.1 });
    const tenths = play(architect({ costUsd: 0.8 }), {
      runs: [exits(0, costs(0.1)), exits(0, costs(0.7))],
      checks: [1],
    });
    expect(tenths.runs).toHaveLength(2);
    const over = play(architect({ costUsd: 0.1 }), { runs: [exits(0, costs(0.08))], checks: [1] });
    expect([over.runs.length, reason(over)]).toEqual([2, 'budget_exhausted']);
  });

  it('S3.32 S3.55 ends the loop when the time is over, but never interrupts a running agent', () => {
    const loop = play(architect({ timeMs: 2000 }), { runs: [exits(0, { ms: 3000 })], checks: [1] });
    expect(loop.runs).toHaveLength(1);
    expect(reason(loop)).toBe('timeout');
    expect(loop.journal.find(({ type }) => type === 'run.ended')).toMatchObject({
      ending: { how: 'exited' },
    });
  });

  it('S3.33 has a stop reason for each of the four endings', () => {
    expect(stopReason({ type: 'done', verified: true, childrenLeft: [] })).toBe('all_checks_passed');
    expect(stopReason({ type: 'iterations-exhausted', limit: 1 })).toBe('max_iterations');
    expect(stopReason({ type: 'cost-exhausted', limitUsd: 1, spentUsd: 1 })).toBe('budget_exhausted');
    expect(stopReason({ type: 'time-exhausted', limitMs: 1 })).toBe('timeout');
  });
});

describe('the result', () => {
  const loop = play(architect(), {
    runs: [exits(0, costs(0.02)), claims({ ...costs(0.03), ms: 4000 })],
    checks: [1, 0, 0, 0],
  });

  it('S3.42 has the iterations, cost, duration, success and stop reason', () => {
    const { iterations, ...rest } = report(loop.journal);
    expect(iterations).toHaveLength(2);
    expect(rest).toMatchObject({ totalCost: 0.05, success: true, stopReason: 'all_checks_passed' });
    expect(rest.totalDuration).toBe(loop.world.clock - 1_000_000);
    expect(report([])).toMatchObject({
      iterations: [],
      totalCost: 0,
      totalDuration: 0,
      success: false,
      stopReason: null,
    });
  });

  it('S3.43 has number, steps, cost, duration, checks, both verdicts and error of every iteration', () => {
    expect(report(loop.journal).iterations).toMatchObject([
      {
        iteration: 1,
        stepsTaken: 4,
        cost: 0.02,
        duration: 1021,
        checkResults: [
          { name: 'pytest', passed: false },
          { name: 'ruff check', passed: true },
        ],
        allChecksPassed: false,
        completionTagFound: false,
        error: null,
      },
      {
        iteration: 2,
        cost: 0.03,
        duration: 4021,
        allChecksPassed: true,
        completionTagFound: true,
        claim: 'accepted',
      },
    ]);
  });

  it('S3.43 reports passed checks and a missing word separately', () => {
    const silent = play(architect({ iterations: 1 }), { runs: [exits(0)], checks: [0] });
    expect(report(silent.journal).iterations[0]).toMatchObject({
      allChecksPassed: true,
      completionTagFound: false,
    });
  });
});
