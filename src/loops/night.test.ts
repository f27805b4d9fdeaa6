import { expect, it } from 'vitest';
import type { Happening, LoopEvent } from '../loop/event.ts';
import { presets } from '../loop/presets.ts';
import { NO_OUTPUT } from '../loop/run.ts';
import { nightOf, type Night } from './night.ts';

const policy = {
  ...presets.default.policy,
  checks: {
    ...presets.default.policy.checks,
    commands: [{ command: 'npm test', action: 'APPEND', hint: null } as const],
  },
};
const created: Happening = { type: 'loop.created', name: 'night', policy };
const SECOND = 1000;

/** The night of these events; a number is the time of the next ones, in seconds. */
function night(events: readonly (Happening | number)[], since = 0): Promise<Night> {
  let at = 0;
  const all: LoopEvent[] = [];
  for (const one of [created, ...events])
    if (typeof one === 'number') at = one * SECOND;
    else all.push({ ...one, at });
  async function* pages(): AsyncGenerator<{ readonly events: readonly LoopEvent[] }> {
    // Every event on a page of its own.
    for (const event of all) yield { events: [event] };
  }
  return nightOf(pages(), since * SECOND, () => null);
}

/** An iteration with one run of 60 s and a claim that the check contradicts. */
function iteration(number: number, from: number, usd: number | null): readonly (Happening | number)[] {
  const run = `${number}.1`;
  const result = { code: 1, timedOut: false, durationMs: 1, log: 'log' };
  const cost = usd === null ? null : ({ usd, source: 'reported' } as const);
  return [
    from,
    { type: 'iteration.started', iteration: number },
    { type: 'run.planned', run, purpose: 'work', guidance: [], prompt: null },
    { type: 'run.output', run, ...NO_OUTPUT, cost },
    from + 60,
    { type: 'run.ended', run, ending: { how: 'exited', code: 0, error: null }, as: 'ok', jitter: 0 },
    { type: 'check.finished', iteration: number, run, index: 0, command: 'npm test', result },
    { type: 'claim.rejected', iteration: number, run, failed: ['npm test'] },
  ];
}

it('keeps the last few claims and iterations and the dearest runs, however long the night was', async () => {
  const events = Array.from({ length: 300 }, (_, at) => iteration(at + 1, at * 100, at % 7)).flat();
  const found = await night(events);
  expect(found).toMatchObject({ iterations: 300, runs: 300, rejectedClaims: 300, runsOfUnknownCost: 0 });
  expect(found.rejections.map((one) => one.iteration)).toEqual([296, 297, 298, 299, 300]);
  expect(found.points).toHaveLength(120);
  expect(found.points.at(-1)).toMatchObject({ iteration: 300, failingChecks: 1, claim: 'rejected' });
  expect(found.dearestRuns.map(({ usd, durationMs }) => [usd, durationMs])).toEqual(
    Array.from({ length: 5 }, () => [6, 60 * SECOND]),
  );
});

it('says how each iteration went', async () => {
  const [started, ...others] = iteration(1, 0, 1).slice(1);
  const limited = others.map((one) =>
    typeof one === 'object' && one.type === 'run.ended'
      ? { ...one, ending: { how: 'exited', code: 1, error: null } as const, as: 'usage-limit' as const }
      : one,
  );
  const failed = others.map((one) =>
    typeof one === 'object' && one.type === 'run.ended'
      ? { ...one, ending: { how: 'exited', code: 1, error: null } as const, as: 'failure' as const }
      : one,
  );
  const how = async (...events: Parameters<typeof night>[0]): Promise<unknown> =>
    (await night(events)).points.map((one) => one.how);
  if (typeof started === 'number' || started === undefined) throw new Error('not an event');
  expect(await how(...iteration(1, 0, 1))).toEqual(['failing']);
  expect(await how(started)).toEqual(['unchecked']);
  expect(await how(started, ...limited.slice(0, 4))).toEqual(['limit']);
  expect(await how(started, ...failed.slice(0, 4))).toEqual(['failed']);
});

it('counts only what happened since a moment, also a part of an iteration', async () => {
  const found = await night(
    [...iteration(1, 0, 1), ...iteration(2, 100, 2), ...iteration(3, 200, null)],
    150,
  );
  expect(found).toMatchObject({
    iterations: 2,
    runs: 2,
    costUsd: 2,
    runsOfUnknownCost: 1,
    rejectedClaims: 2,
  });
});

it('does not take an unknown cost for zero', async () => {
  const found = await night(iteration(1, 0, null));
  expect(found).toMatchObject({ costUsd: null, runsOfUnknownCost: 1, dearestRuns: [] });
  expect(found.points[0]?.costUsd).toBeNull();
});

it('counts the deaths of the process, and not an owner that has left the loop', async () => {
  const found = await night([
    ...iteration(1, 0, 1),
    100,
    { type: 'owner.changed', owner: '2' },
    { type: 'owner.left' },
    200,
    { type: 'owner.changed', owner: '3' },
  ]);
  expect(found.crashes).toEqual({ count: 1, ms: 40 * SECOND });
});

it('tells what answered a question: a person, the default, or nothing yet', async () => {
  const ask = (id: string, byDefault: string | null): Happening => ({
    type: 'question.asked',
    id,
    text: `${id}?`,
    default: byDefault,
    timeoutMs: byDefault === null ? null : 10 * SECOND,
  });
  const answer = { type: 'answer', question: 'first', text: 'yes' } as const;
  const found = await night([
    ask('first', null),
    1,
    { type: 'control.received', id: 'c', control: answer },
    ask('second', 'no'),
    20,
    { type: 'timer.fired', key: 'answer:second' },
    ask('third', null),
  ]);
  expect(found.questions).toEqual([
    { id: 'first', text: 'first?', answer: 'yes', by: 'person' },
    { id: 'second', text: 'second?', answer: 'no', by: 'default' },
    { id: 'third', text: 'third?', answer: null, by: null },
  ]);
  expect(found.asked).toBe(3);
});
