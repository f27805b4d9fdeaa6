import { describe, expect, it } from 'vitest';
import type { Happening } from '../../src/loop/event.ts';
import { presets } from '../../src/loop/presets.ts';
import { renderPrompt } from '../../src/loop/prompt.ts';
import type { LoopState } from '../../src/loop/state.ts';
import { ended, given, iteration, planned, received, started, wanted } from '../rig/given.ts';
import { play } from '../rig/play.ts';
import { exits } from '../rig/world.ts';

const conductor = (iterations: number) => ({ preset: 'conductor', limits: { iterations } });

describe('the prompt of a conductor loop', () => {
  it('S1.69 continues the task from the second attempt on, and after a resume', () => {
    const prefix = (state: LoopState): boolean => {
      const effect = wanted(state);
      return effect?.type === 'run' && effect.plan.sections.some(({ kind }) => kind === 'restart-prefix');
    };
    const probed = (key: string): Happening => ({
      type: 'probe.finished',
      key: `probe:${key}:before`,
      phase: 'before',
      markers: [],
      problem: null,
      messages: [],
      fingerprint: null,
    });
    const first = [probed('1.1'), iteration(1)];
    const input = { ...conductor(9), checkpoint: false };
    expect(prefix(given(input, ...first))).toBe(false);
    // The owner may die between the plan of a run and its start.
    expect(prefix(given(input, ...first, planned('1.1')))).toBe(false);
    const stopped = [
      ...first,
      planned('1.1'),
      started('1.1'),
      received('a', { type: 'stop', now: true, by: 'person' }),
      ended('1.1', { how: 'interrupted' }),
      { type: 'loop.ended', outcome: { type: 'stopped', by: 'person' } },
      { type: 'loop.reopened', policy: null },
      [9, { type: 'timer.fired', key: 'wait:1.1' }],
      probed('1.2'),
    ] as const;
    expect(wanted(given(input, ...stopped))?.key).toBe('run:1.2');
    expect(prefix(given(input, ...stopped))).toBe(true);
    const runs = play(conductor(3), { runs: [exits(1), exits(0), exits(0)] }).started.flatMap((effect) =>
      effect.type === 'run' ? [effect.plan.sections.some(({ kind }) => kind === 'restart-prefix')] : [],
    );
    expect(runs).toEqual([false, true, true]);
  });

  it('S1.70 puts the preamble and a line `---` in front of the prompt, whatever a failed check does to it', () => {
    const failed = {
      kind: 'failed-check',
      index: 0,
      command: 'test',
      action: 'REPLACE',
      hint: null,
      code: 1,
      timedOut: false,
      log: 'log',
      excerpt: { side: 'tail', chars: null, marker: '' },
    } as const;
    const inputs = {
      base: 'Fix it.',
      isSpecification: false,
      diff: '',
      progress: '',
      messages: '',
      checkOutput: {},
      preamble: {
        variables: { JRUN_TASK_ID: 'fix', JRUN_ID: 'fix-1.2.1' },
        outputFile: '/t/runs/0002/output.md',
        doneFile: '/t/DONE',
        agent: 'claude',
      },
    };
    const { sections } = presets.conductor.policy.prompt;
    expect(sections.slice(-2)).toEqual(['restart-prefix', 'preamble']);
    const [head = '', task] = renderPrompt(
      { sections: [{ kind: 'base' }, { kind: 'restart-prefix' }, { kind: 'preamble' }] },
      inputs,
    ).split('\n---\n');
    expect(task).toBe('\nContinue working on the following:\n\nFix it.');
    expect(head.startsWith('JRUN_TASK_ID=fix\nJRUN_ID=fix-1.2.1\n')).toBe(true);
    for (const line of [
      'Write output.md to /t/runs/0002/output.md',
      '## Message Bus',
      '## Sub-Agent Spawning (RLM Pattern)',
      '## Completion',
      'When done, create: /t/DONE',
    ])
      expect(head.split('\n')).toContain(line);
    expect(head).toContain('ralph run --agent claude "');
    expect(head).toContain('ralph spawn --name');
    const replaced = renderPrompt({ sections: [{ kind: 'base' }, failed, { kind: 'preamble' }] }, inputs);
    expect(replaced.startsWith(`${head}\n---\n\nGuardrail "test" failed`)).toBe(true);
  });
});
