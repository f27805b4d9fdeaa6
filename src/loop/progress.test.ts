import { describe, expect, it } from 'vitest';
import {
  checked,
  ended,
  ending,
  exited,
  given,
  iteration,
  planned,
  wanted,
  type Entry,
} from '../../test/rig/given.ts';
import type { LoopState } from './state.ts';

const watching = { ...checked, limits: {}, checkpoint: true };

const look = (run: string, phase: 'before' | 'after', fingerprint: string | null): Entry => ({
  type: 'probe.finished',
  key: `probe:${run}:${phase}`,
  phase,
  markers: [],
  problem: null,
  messages: [],
  fingerprint,
});
const checks = (n: number, code = 1): Entry[] => [
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
const taken = (n: number, fingerprint?: string): Entry => ({
  type: 'checkpoint.taken',
  iteration: n,
  ref: 'r',
  error: null,
  ...(fingerprint === undefined ? {} : { fingerprint }),
});
/** Long enough after a failure. */
const wait = (n: number): Told => [n * 1000, { type: 'timer.fired', key: `wait:${n}.1` }];
type Told = Parameters<typeof given>[1];
/** An iteration that ends with this tree, and with that one after its check. */
const turn = (n: number, left: string, littered: string, code = 0): Told[] => [
  iteration(n),
  planned(`${n}.1`),
  exited(`${n}.1`, code),
  look(`${n}.1`, 'after', left),
  ...(code === 0 ? checks(n) : []),
  taken(n, littered),
  wait(n),
];
const after = (...turns: readonly (readonly Told[])[]): LoopState =>
  given(watching, look('1.1', 'before', 'a'), ...turns.flat());

describe('an iteration is unchanged', () => {
  const passing = (n: number, tree: string): Told[] => [
    iteration(n),
    planned(`${n}.1`),
    exited(`${n}.1`, 0),
    look(`${n}.1`, 'after', tree),
    ...checks(n, 0),
    taken(n, tree),
    wait(n),
  ];
  const unchanged = (...turns: readonly (readonly Told[])[]): number => after(...turns).progress.unchanged;

  it('if the tree before its run equals the tree after it, and its check results were seen before', () => {
    expect(unchanged(turn(1, 'a', 'a'), turn(2, 'a', 'a'))).toBe(2);
    // Another tree with known check results.
    expect(unchanged(turn(1, 'a', 'a'), turn(2, 'b', 'b'))).toBe(0);
    // The same tree with new check results.
    expect(unchanged(turn(1, 'a', 'a'), passing(2, 'a'))).toBe(0);
    expect(unchanged(turn(1, 'a', 'a'), passing(2, 'a'), turn(3, 'a', 'a'))).toBe(1);
  });
});

describe('what a check writes', () => {
  it('is no progress: the run has left the tree as it found it', () => {
    const idle = [turn(1, 'a', 'a1'), turn(2, 'a1', 'a2'), turn(3, 'a2', 'a3'), turn(4, 'a3', 'a4')];
    expect(ending(after(...idle))).toBeNull();
    expect(after(...idle).progress.unchanged).toBe(4);
    expect(ending(after(...idle, turn(5, 'a4', 'a5')))).toEqual({ type: 'stuck', unchanged: 5 });
  });

  it('hides no work, in whichever run it is done', () => {
    const works = [turn(1, 'b', 'b1'), turn(2, 'c', 'c1'), turn(3, 'd', 'd1')];
    expect(after(...works).progress.unchanged).toBe(0);
    expect(after(...works, turn(4, 'd1', 'd2'), turn(5, 'd2', 'd3')).progress.unchanged).toBe(2);
    const failed = [turn(1, 'a', 'a1'), turn(2, 'b', 'b', 1), turn(3, 'b', 'b1')];
    expect(after(...failed).progress.unchanged).toBe(0);
    expect(after(...failed, turn(4, 'b1', 'b2')).progress.unchanged).toBe(1);
  });

  it('is found by the look of the checkpoint, so that no other follows', () => {
    const through = [iteration(1), planned('1.1'), exited('1.1', 0), look('1.1', 'after', 'a'), ...checks(1)];
    expect(wanted(after(through))).toMatchObject({ type: 'checkpoint', fingerprint: true });
    expect(wanted(after([...through, taken(1, 'a1'), wait(1)]))).toMatchObject({ type: 'record' });
  });

  it('is looked for before the next run if the checkpoint does not know the tree, as in an older journal', () => {
    const before = [[...turn(1, 'a', 'a1').slice(0, -2), taken(1), wait(1)]];
    expect(wanted(after(...before))).toMatchObject({ key: 'probe:2.1:before', fingerprint: true });
    expect(after(...before, [look('2.1', 'before', 'a1')], turn(2, 'a1', 'a2')).progress.unchanged).toBe(2);
  });

  it('is not asked for if nothing ran after the look', () => {
    const failed = [iteration(1), planned('1.1'), exited('1.1', 1), look('1.1', 'after', 'b')];
    const state = after(failed);
    expect(wanted(state)).toMatchObject({ type: 'checkpoint', fingerprint: false });
    expect(after([...failed, taken(1), wait(1)]).progress.found).toBe('b');
  });

  it('counts for what follows when new checks run after the checkpoint', () => {
    const policy = { ...watching, checks: { commands: [] } };
    const { policy: without } = given(policy);
    const { policy: again } = given(watching);
    const changed = [
      ...turn(1, 'a', 'a1').slice(0, -1),
      { type: 'policy.changed', policy: without },
      { type: 'policy.changed', policy: again },
      ...checks(1),
      wait(1),
    ] as const;
    expect(after(changed).progress.found).toBeNull();
  });
});

it('a run that was cut short may have worked, so the tree is not looked at again before it continues', () => {
  const cut = [look('1.1', 'before', null), iteration(1), planned('1.1')];
  const outage = { how: 'exited', code: 1, error: { kind: 'transient', message: '529' } } as const;
  const state = given(watching, ...cut, ended('1.1', outage), wait(1));
  expect(wanted(state)).toMatchObject({ type: 'run', run: '1.2' });
});
