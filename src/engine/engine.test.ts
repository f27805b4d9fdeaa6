import { expect, it } from 'vitest';
import { fakeHost } from '../../test/rig/fake-host.ts';
import { fakeWorkspace } from '../../test/rig/fake-workspace.ts';
import { Life, type Pages } from '../../test/rig/life.ts';
import { exits, FakeWorld } from '../../test/rig/world.ts';
import { memoryJournal } from '../journal/memory.ts';
import { INITIAL } from '../loop/evolve.ts';
import { resolvePolicy } from '../loop/validate.ts';
import { Engine } from './engine.ts';

it('ends a run that nobody can read, once, and does not try for ever', async () => {
  const resolution = resolvePolicy({ checkpoint: false, limits: { unchanged: null } });
  if (!resolution.ok) throw new Error('a policy that is impossible');
  const world = new FakeWorld({ runs: [exits(0)], checks: [0] }, 1000);
  const pages: Pages = { events: [], synced: 0 };
  const life = new Life(world, pages, () => false);
  const desk = { children: new Map<string, number>(), edited: null, limit: null, promptLostAt: null };
  const workspace = {
    ...fakeWorkspace(world, life, desk),
    read() {
      throw new Error('unreadable');
    },
  };
  const journal = {
    ...memoryJournal(pages.events),
    get length() {
      return pages.events.length;
    },
    sync() {
      pages.synced = pages.events.length;
    },
  };
  const host = fakeHost(world, life, () => true);
  const engine = new Engine(
    { journal, clock: life.clock, host, workspace, observer: {}, chance: () => 0 },
    INITIAL,
  );
  engine.append({ type: 'loop.created', name: 'it', policy: resolution.policy });
  let stopped: unknown = null;
  void engine.run().then((stop) => {
    stopped = stop;
  });
  for (let step = 0; step < 200 && stopped === null; step++) {
    // oxlint-disable-next-line no-await-in-loop -- every microtask has its turn before time passes
    await new Promise(setImmediate);
    if (stopped === null && life.clock.next !== null) life.clock.jump();
  }
  expect(stopped).toMatchObject({ why: 'ended', outcome: { type: 'fatal', message: 'unreadable' } });
  expect(world.alive()).toEqual([]);
  expect(pages.events.filter(({ type }) => type === 'control.received')).toHaveLength(1);
});
