import { describe, expect, it } from 'vitest';
import { searchInTime } from '../../test/rig/scan.ts';
import {
  checked,
  exited,
  given,
  iteration,
  output,
  plain,
  planned,
  wanted,
  type Entry,
} from '../../test/rig/given.ts';
import type { NearMiss } from './completion.ts';
import { missedClaim } from './claim.ts';
import { renderPrompt } from './prompt.ts';
import { startScan } from './scan.ts';
import type { LoopState } from './state.ts';
import type { PolicyInput } from './validate.ts';

const nearMiss: NearMiss = { tag: '<promise>DONE</promise>', where: 'text' };
const claim = { by: 'promise-tag', text: '<promise>DONE</promise>' } as const;
const run = (n: number, more: Parameters<typeof output>[1] = { nearMiss }, code = 0): Entry[] => [
  iteration(n),
  planned(`${n}.1`),
  output(`${n}.1`, more),
  exited(`${n}.1`, code),
];
const next = (n: number): Entry[] => [{ type: 'timer.fired', key: `wait:${n}.1` }, iteration(n + 1)];
const promptOf = (state: LoopState): string => {
  const effect = wanted(state);
  if (effect?.type !== 'run') throw new Error(`expected a run, got ${effect?.type}`);
  return renderPrompt(effect.plan, {
    base: 'Fix it.',
    isSpecification: false,
    diff: '',
    progress: '',
    messages: '',
    checkOutput: {},
  });
};

describe('a near miss', () => {
  it('is reported for a run that made no claim', () => {
    expect(missedClaim(given(plain, ...run(1)))).toEqual(nearMiss);
    expect(missedClaim(given(plain, ...run(1, {})))).toBeNull();
    expect(missedClaim(given(plain))).toBeNull();
  });

  it('is not reported beside a claim, by text, by a marker or by an exit code', () => {
    expect(missedClaim(given(plain, ...run(1, { nearMiss, claim })))).toBeNull();
    const byCode = { ...plain, completion: { detectors: [{ kind: 'exit-code', code: 0 }] } };
    expect(missedClaim(given(byCode, ...run(1)))).toBeNull();
  });

  it('is not reported if no claim is needed, or if a claim of the run would not count', () => {
    const policies: PolicyInput[] = [
      { ...checked, completion: { ...plain.completion, until: 'checks' } },
      { ...plain, completion: { ...plain.completion, afterFailure: 'ignore' } },
    ];
    for (const policy of policies) expect(missedClaim(given(policy, ...run(1, { nearMiss }, 1)))).toBeNull();
    const limited = { nearMiss, limit: { resetsAt: null, message: 'usage limit' } };
    expect(missedClaim(given(plain, ...run(1, limited, 1)))).toBeNull();
  });

  it('is explained in the next prompt only, and this prompt is no claim when it is echoed', () => {
    const once = given(plain, ...run(1), ...next(1));
    const text = promptOf(once);
    expect(text).toContain(
      'The previous run wrote <promise>DONE</promise> inside other text, which is no claim',
    );
    expect(text.split('\n').every((line) => line.trim() !== '<promise>DONE</promise>')).toBe(true);
    const { detectors } = once.policy.completion;
    expect(
      startScan(detectors, searchInTime).read({ source: 'assistant', message: 'e', text }).claim(true),
    ).toBeNull();
    expect(promptOf(given(plain, ...run(1), ...next(1), ...run(2, {}).slice(1), ...next(2)))).not.toContain(
      'which is no claim',
    );
    expect(promptOf(given(plain, iteration(1)))).not.toContain('which is no claim');
  });
});

describe('the nudge', () => {
  const nudged = (policy: PolicyInput, code: number | null): string => {
    const fingerprint = 'a';
    const probe = (n: number, phase: 'before' | 'after'): Entry => ({
      type: 'probe.finished',
      key: `probe:${n}.1:${phase}`,
      phase,
      markers: [],
      problem: null,
      messages: [],
      fingerprint,
    });
    const checks = (n: number): Entry[] =>
      code === null
        ? []
        : [
            { type: 'checks.started', iteration: n, run: `${n}.1` },
            {
              type: 'check.finished',
              iteration: n,
              run: `${n}.1`,
              index: 0,
              command: 'test',
              result: { code, timedOut: false, durationMs: 1, log: 'l' },
            },
          ];
    const turn = (n: number): Entry[] => [
      ...run(n, {}).slice(1),
      probe(n, 'after'),
      ...checks(n),
      { type: 'timer.fired', key: `wait:${n}.1` },
      ...(code === null ? [] : [probe(n + 1, 'before')]),
      iteration(n + 1),
    ];
    const nudge = { ...policy, limits: { unchanged: { nudge: 3, end: 5 } } };
    return promptOf(given(nudge, probe(1, 'before'), iteration(1), ...turn(1), ...turn(2), ...turn(3)));
  };
  const claimNow =
    /claim it now: finish your last message with a line that contains only <promise>DONE<\/promise>/;

  it('tells the agent to claim if the work is done and every check passes', () => {
    const text = nudged(checked, 0);
    expect(text).toContain(
      'The last 3 iterations made no progress: the files and the check results were the same as after an earlier iteration.',
    );
    expect(text).toContain('Every check passes.');
    expect(text).toMatch(claimNow);
    expect(text).not.toContain('another approach');
  });

  it('says the same without checks', () => {
    const text = nudged(plain, null);
    expect(text).toContain('There are no checks.');
    expect(text).toMatch(claimNow);
  });

  it('asks for another approach while a check fails', () => {
    const text = nudged(checked, 1);
    expect(text).toContain('take another approach');
    expect(text).not.toMatch(claimNow);
    const byChecks = { ...checked, completion: { ...plain.completion, until: 'checks' } };
    expect(nudged(byChecks, 1)).toContain('take another approach');
  });
});
