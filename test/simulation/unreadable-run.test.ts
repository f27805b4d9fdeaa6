import { expect, it } from 'vitest';
import { fakeHost } from '../rig/fake-host.ts';
import { fakeWorkspace } from '../rig/fake-workspace.ts';
import { Life, type Pages } from '../rig/life.ts';
import { exits, FakeWorld } from '../rig/world.ts';
import type { RunReader } from '../../src/agents/reader.ts';
import { NO_OUTPUT } from '../../src/loop/run.ts';
import { memoryJournal } from '../rig/memory-journal.ts';
import { NOTHING_KNOWN } from '../../src/loop/report.ts';
import { resolvePolicy } from '../../src/loop/validate.ts';
import { Engine } from '../../src/engine/engine.ts';

const throws = (): never => {
  throw new Error('unreadable');
};

it.each<[string, () => Partial<RunReader>]>([
  ['at all', throws],
  ['any further', () => ({ read: throws })],
  ['to its end', () => ({ end: throws })],
  ['once it has ended', () => ({ snapshot: (ended) => (ended ? throws() : NO_OUTPUT) })],
  ['while it runs', () => ({ snapshot: throws })],
])('ends the loop as fatal, once, if the output of a run cannot be read %s', async (_, broken) => {
  const resolution = resolvePolicy({ checkpoint: false, limits: { unchanged: null } });
  if (!resolution.ok) throw new Error('the policy is not valid');
  const world = new FakeWorld({ runs: [exits(0)], checks: [0] }, 1000);
  const pages: Pages = { events: [], synced: 0 };
  const life = new Life(world, pages, () => false);
  const workspaceFolder = {
    children: new Map<string, number>(),
    edited: null,
    limit: null,
    promptLostAt: null,
  };
  const fake = fakeWorkspace(world, life, workspaceFolder);
  const workspace = {
    ...fake,
    read: (...run: Parameters<typeof fake.read>) => ({ ...fake.read(...run), ...broken() }),
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
    { journal, clock: life.clock, host, workspace, observers: [], chance: () => 0 },
    NOTHING_KNOWN,
  );
  engine.append({ type: 'loop.created', name: 'it', policy: resolution.policy });
  const stops: unknown[] = [];
  const run = async (): Promise<void> => {
    stops.push(await engine.run());
  };
  void run();
  for (let step = 0; step < 200 && stops.length === 0; step++) {
    // oxlint-disable-next-line no-await-in-loop -- every microtask runs before time passes
    await new Promise(setImmediate);
    if (stops.length === 0 && life.clock.next !== null) life.clock.jump();
  }
  expect(stops).toMatchObject([{ why: 'ended', outcome: { type: 'fatal', message: 'unreadable' } }]);
  expect(world.alive()).toEqual([]);
  expect(pages.events.filter(({ type }) => type === 'control.received')).toHaveLength(1);
});
