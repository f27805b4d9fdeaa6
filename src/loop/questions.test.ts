import { describe, expect, it } from 'vitest';
import { admits } from './admit.ts';
import { decide } from './decide.ts';
import { evolve } from './evolve.ts';
import type { Control, Happening } from './event.ts';
import { planPrompt } from './prompt-plan.ts';
import { resolvePolicy } from './validate.ts';
import type { LoopState } from './state.ts';
import { INITIAL } from './initial.ts';

const START = 1000;

/** Writes events one after the other, each a second later; throws at one that is not admitted. */
function play(state: LoopState, ...happenings: readonly Happening[]): LoopState {
  return happenings.reduce((before, happening) => {
    const event = { ...happening, at: Math.max(before.now, START) };
    if (!admits(before, event)) throw new Error(`${event.type} is not admitted`);
    return evolve(before, event);
  }, state);
}

function created(limits: object = {}): LoopState {
  const resolution = resolvePolicy({
    preset: 'default',
    checkpoint: false,
    limits: { unchanged: null, ...limits },
  });
  if (!resolution.ok) throw new Error(JSON.stringify(resolution.problems));
  return play(INITIAL, { type: 'loop.created', name: 'a', policy: resolution.policy }, probed('before'));
}

function probed(phase: 'before' | 'after', run = '1.1'): Happening {
  return {
    type: 'probe.finished',
    key: `probe:${run}:${phase}`,
    phase,
    markers: [],
    problem: null,
    messages: [],
    fingerprint: null,
  };
}

function asked(
  more: { readonly id?: string; readonly default?: string; readonly timeoutMs?: number } = {},
): Happening {
  const { id = 'MSG-1', default: byDefault = null, timeoutMs = null } = more;
  return { type: 'question.asked', id, text: 'Which database?', default: byDefault, timeoutMs };
}

function answered(text: string, question: string | null = null): Happening {
  const control: Control = { type: 'answer', question, text };
  return { type: 'control.received', id: `answer-${text}`, control };
}

function guidance(state: LoopState): readonly string[] {
  return planPrompt(state, null).sections.flatMap((section) =>
    section.kind === 'guidance' ? section.texts : [],
  );
}

describe('an open question', () => {
  it('makes the loop wait for a person before the next iteration, without an end', () => {
    const state = play(created(), asked());
    expect(decide(state)).toEqual([{ type: 'wait', key: 'answer:MSG-1', until: null, why: 'answer' }]);
    expect(admits(state, { type: 'timer.fired', key: 'answer:MSG-1', at: Number.MAX_SAFE_INTEGER })).toBe(
      false,
    );
  });

  it('ends with the answer of a person, which the next prompt has', () => {
    const state = play(created(), asked(), answered('PostgreSQL'));
    expect(state.questions).toEqual([]);
    expect(guidance(state)).toEqual(['You asked: Which database?\nThe answer: PostgreSQL']);
    expect(decide(state)).toMatchObject([{ type: 'record', event: { type: 'iteration.started' } }]);
  });

  it('ends with its default once that is due, and not before', () => {
    const state = play(created(), asked({ default: 'SQLite', timeoutMs: 60_000 }));
    const [wait] = decide(state);
    expect(wait).toMatchObject({ type: 'wait', until: START + 60_000, why: 'answer' });
    const fired = { type: 'timer.fired', key: 'answer:MSG-1' } as const;
    expect(admits(state, { ...fired, at: START + 59_999 })).toBe(false);
    const over = evolve(state, { ...fired, at: START + 60_000 });
    expect(over.questions).toEqual([]);
    expect(guidance(over)[0]).toContain('Continue with your default: SQLite');
  });

  it('waits for a person if only one of default and timeout is known', () => {
    expect(decide(play(created(), asked({ default: 'SQLite' })))).toMatchObject([{ until: null }]);
    expect(decide(play(created(), asked({ timeoutMs: 5 })))).toMatchObject([{ until: null }]);
  });

  it('does not outlast the time limit of the loop, and stays open when the loop is resumed', () => {
    const state = play(created({ timeMs: 10_000 }), asked({ default: 'SQLite', timeoutMs: 60_000 }));
    expect(decide(state)).toMatchObject([{ type: 'wait', until: START + 10_000 }, { type: 'alarm' }]);
    const over = evolve(state, { type: 'timer.fired', key: 'answer:MSG-1', at: START + 10_000 });
    expect(decide(over)).toMatchObject([
      { event: { type: 'loop.ended', outcome: { type: 'time-exhausted' } } },
    ]);
    expect(over.questions).toHaveLength(1);
  });

  it('lets the loop pause, stop and change its limits meanwhile', () => {
    const state = play(created(), asked());
    const control = (one: Control): LoopState =>
      play(state, { type: 'control.received', id: 'c', control: one });
    expect(decide(control({ type: 'pause' }))).toMatchObject([{ type: 'rest' }]);
    expect(decide(control({ type: 'stop', now: false, by: 'person' }))).toMatchObject([
      { event: { type: 'loop.ended', outcome: { type: 'stopped' } } },
    ]);
    expect(decide(control({ type: 'set', limits: { iterations: 3 } }))).toMatchObject([{ why: 'answer' }]);
  });

  it('does not end a running agent, and the loop waits when the agent has ended', () => {
    const running = play(
      created(),
      { type: 'iteration.started', iteration: 1 },
      { type: 'run.planned', run: '1.1', purpose: 'work', guidance: [], prompt: null },
      asked(),
    );
    expect(decide(running)).toMatchObject([{ type: 'run' }]);
    const ending = { how: 'exited', code: 0, error: null } as const;
    const ended = play(
      running,
      { type: 'run.ended', run: '1.1', ending, as: 'ok', jitter: 0 },
      probed('after'),
    );
    const [wait] = decide(ended);
    if (wait?.type !== 'wait') throw new Error('no wait');
    const next = play(ended, { type: 'timer.fired', key: wait.key }, probed('before', '2.1'));
    expect(decide(next)).toMatchObject([{ key: 'answer:MSG-1' }]);
  });
});

describe('several questions', () => {
  it('are answered by their ids, or the oldest first', () => {
    const state = play(created(), asked({ id: 'MSG-1' }), asked({ id: 'MSG-2' }), asked({ id: 'MSG-3' }));
    const one = play(state, answered('second', 'MSG-2'));
    expect(one.questions.map(({ id }) => id)).toEqual(['MSG-1', 'MSG-3']);
    expect(play(one, answered('first')).questions.map(({ id }) => id)).toEqual(['MSG-3']);
  });

  it('count once each, and no answer is accepted for one that is not open', () => {
    const state = play(created(), asked());
    expect(admits(state, { ...asked(), at: START })).toBe(false);
    const over = play(state, answered('yes'));
    expect(admits(over, { ...asked(), at: START })).toBe(false);
    expect(admits(over, { ...answered('no'), at: START })).toBe(false);
    expect(admits(state, { ...answered('no', 'MSG-9'), at: START })).toBe(false);
  });

  it('are limited in number, so that an agent cannot fill the screen', () => {
    let state = created();
    for (let number = 1; number <= 20; number++) state = play(state, asked({ id: `MSG-${number}` }));
    expect(admits(state, { ...asked({ id: 'MSG-21' }), at: START })).toBe(false);
  });
});

describe('messages on the bus', () => {
  const planned: Happening = {
    type: 'run.planned',
    run: '1.1',
    purpose: 'work',
    guidance: [],
    prompt: { path: 'prompt.md', hash: 'h', base: 'b', messagesUpTo: 'MSG-7' },
  };
  const started: Happening = {
    type: 'run.started',
    run: '1.1',
    receipt: { pid: 1, startTime: '1', bootId: 'b', pidNamespace: 'n' },
  };
  const ended = (as: 'ok' | 'outage'): Happening => ({
    type: 'run.ended',
    run: '1.1',
    ending: { how: 'exited', code: 0, error: null },
    as,
    jitter: 0,
  });

  it('are shown again if the run that was shown them is cut short', () => {
    const running = play(created(), { type: 'iteration.started', iteration: 1 }, planned, started);
    expect(play(running, ended('ok')).messages.shown).toBe('MSG-7');
    expect(play(running, ended('outage')).messages.shown).toBeNull();
  });
});
