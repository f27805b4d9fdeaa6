import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { EventsFrom, Told } from '../../src/loops/events.ts';
import { localLoops } from '../../src/loops/local-loops.ts';
import type { LoopRef } from '../../src/loops/loops.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
  vi.stubEnv('XDG_STATE_HOME', rig.env['XDG_STATE_HOME']);
  vi.stubEnv('HOME', rig.env['HOME']);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rig.tearDown();
});

const line = (event: object): string => `${JSON.stringify(event)}\n`;

/** Follows a loop until it has ended, page by page. */
async function follow(
  loop: LoopRef,
  from: EventsFrom['from'],
  seen: Told[],
  stop: AbortSignal,
): Promise<void> {
  for (let at = from; ;) {
    // oxlint-disable-next-line no-await-in-loop -- one page after the other
    const page = await localLoops().events(loop, { from: at, agent: true }, { wait: 60_000, signal: stop });
    seen.push(...page.told);
    // As a reader in another process gets it.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it was a mark
    at = JSON.parse(JSON.stringify(page.next)) as typeof page.next;
    const last = seen.at(-1);
    if (stop.aborted || (last?.is === 'event' && last.event.type === 'loop.ended')) return;
  }
}

it('a reader that follows a loop over a crash of its owner gets every event and every word once', async () => {
  const first = rig.ralph(['run', 'task', '--name', 'a', '--agent', 'scripted', '--', ...rig.agent]);
  const turn = await rig.nextTurn();
  const loops = localLoops();
  const loop = await loops.find('a', rig.workspace);
  const seen: Told[] = [];
  const following = follow(loop, null, seen, AbortSignal.timeout(60_000));
  const late: Told[] = [];
  const { next, told } = await loops.events(loop, { from: 'snapshot', agent: true });
  late.push(...told);
  const followingLate = follow(loop, next, late, AbortSignal.timeout(60_000));
  await turn.prints(line({ type: 'text', text: 'early\n' }));
  await turn.prints(line({ type: 'progress', tokens: { input: 1 } }));
  await rig.loop('a').journals('run.output', ({ tokens }) => tokens?.input === 1);
  await first.crashes();
  await turn.prints(line({ type: 'text', text: 'without an owner\n' }));
  const second = rig.ralph(['resume', 'a']);
  await rig.loop('a').journals('owner.changed');
  await turn.prints(line({ type: 'text', text: 'late\n' }));
  await turn.prints(line({ type: 'result', ok: true, text: '<promise>DONE</promise>' }));
  await turn.exits(0);
  await second.ended;
  await Promise.all([following, followingLate]);

  const numbers = (all: readonly Told[]): readonly number[] =>
    all.flatMap((one) => (one.is === 'event' ? [one.number] : []));
  const words = (all: readonly Told[]): string =>
    all.map((one) => (one.is === 'agent' && one.event.type === 'text' ? one.event.text : '')).join('');
  const { events } = rig.loop('a');
  expect(numbers(seen)).toEqual(events.map((_, index) => index + 1));
  expect(seen.flatMap((one) => (one.is === 'event' ? [one.event] : []))).toEqual(events);
  expect(words(seen)).toBe('early\nwithout an owner\nlate\n');
  const [snapshot] = late;
  expect(snapshot?.is).toBe('snapshot');
  const known = snapshot?.is === 'snapshot' ? snapshot.number : 0;
  expect(numbers(late)).toEqual(events.slice(known).map((_, index) => known + index + 1));
  expect(words(late)).toBe('early\nwithout an owner\nlate\n');
});
