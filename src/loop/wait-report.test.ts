import { expect, it } from 'vitest';
import { play } from '../../test/rig/play.ts';
import { claims, exits, limited } from '../../test/rig/world.ts';
import { report } from './report.ts';

it('sums the waits of a second or longer, whatever ended them', () => {
  const waited = play({}, { runs: [limited(60_000), claims()] });
  const [ms = 0] = waited.waits;
  expect(report(waited.journal).waits).toMatchObject({ count: 1, ms });
  const resumed = play({}, { runs: [limited(60_000), claims()] }, [
    { atMs: 20_000, control: { type: 'resume', now: true } },
  ]);
  const ended = resumed.journal.find(({ type }) => type === 'run.ended');
  expect(report(resumed.journal).waits).toMatchObject({ count: 1, ms: 1_020_000 - (ended?.at ?? 0) });
  const short = play({ limits: { iterations: 3 } }, { runs: [exits(0)] });
  expect(report(short.journal).waits).toMatchObject({ count: 0, ms: 0 });
});

it('does not count the rest in the middle of a wait', () => {
  const pause = { type: 'pause' } as const;
  const { journal, more } = play({}, { runs: [limited(60_000), claims()] }, [
    { atMs: 20_000, control: pause },
  ]);
  const first = report(journal).waits;
  expect(first.count).toBe(1);
  const { journal: whole } = more({ type: 'resume', now: false });
  const resumed = whole.findLast(({ type }) => type === 'control.received');
  const over = whole.findLast(({ type, at }) => type === 'timer.fired' && at > (resumed?.at ?? 0));
  const rest = Math.max(0, (over?.at ?? 0) - (resumed?.at ?? 0));
  expect(report(whole).waits.ms).toBe(first.ms + (rest < 1000 ? 0 : rest));
});
