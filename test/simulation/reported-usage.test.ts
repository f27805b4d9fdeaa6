import { expect, it } from 'vitest';
import { fakeWorkspace } from '../rig/fake-workspace.ts';
import { Life, type Pages } from '../rig/life.ts';
import { FakeWorld } from '../rig/world.ts';
import { readRun } from '../../src/agents/reader.ts';
import { scripted } from '../../src/agents/scripted.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { Host } from '../../src/hosts/host.ts';
import { memoryJournal } from '../rig/memory-journal.ts';
import { NOTHING_KNOWN } from '../../src/loop/report.ts';
import { resolvePolicy } from '../../src/loop/validate.ts';
import { searchInTime } from '../../src/owner/pattern-search.ts';

const START = 1000;
const REPORTS = 500;

/** An agent that reports a cent more each millisecond, then is silent until it is stopped. */
const spendthrift = ({ clock }: Life): Host => ({
  outlivesOwner: true,
  find: async () => null,
  async start() {
    let stop: (() => void) | null = null;
    const ended = new Promise<void>((resolve) => {
      stop = resolve;
    });
    return {
      receipt: { pid: 1, startTime: '', bootId: '', pidNamespace: '' },
      isOfEarlierBoot: false,
      ended,
      follow(take) {
        for (let count = 1; count <= REPORTS; count++) {
          const report = Buffer.from(`${JSON.stringify({ type: 'progress', costUsd: count / 100 })}\n`);
          clock.at(clock.now() + count, () => void take(report, 'stdout'));
        }
      },
      async stop() {
        stop?.();
        return [];
      },
      close: async () => null,
      detach: async () => {},
    };
  },
});

it('journals usage at most every 50 ms, and stops an agent that falls silent above its cost limit', async () => {
  const limits = { unchanged: null, costUsd: REPORTS / 100, iterations: 1 };
  const resolution = resolvePolicy({ checkpoint: false, limits });
  if (!resolution.ok) throw new Error('the policy is not valid');
  const world = new FakeWorld({ runs: [], checks: [] }, START);
  const pages: Pages = { events: [], synced: 0 };
  const life = new Life(world, pages, () => false);
  const workspaceFolder = {
    children: new Map<string, number>(),
    edited: null,
    limit: null,
    promptLostAt: null,
  };
  const workspace = {
    ...fakeWorkspace(world, life, workspaceFolder),
    read: () =>
      readRun(
        scripted,
        [],
        {
          shown: { offset: 0 },
          startedAt: START,
          folder: '/nowhere',
          workspaceFolder: '/nowhere',
          argv: ['agent'],
          env: () => ({}),
          session: null,
          price: () => null,
          hide: (text) => text,
          search: searchInTime,
        },
        () => {},
      ),
  };
  const journal = {
    ...memoryJournal(pages.events),
    get length() {
      return pages.events.length;
    },
  };
  const host = spendthrift(life);
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
  for (let step = 0; step < 2 * REPORTS && stops.length === 0; step++) {
    // oxlint-disable-next-line no-await-in-loop -- every microtask runs before time passes
    await new Promise(setImmediate);
    if (stops.length === 0 && life.clock.next !== null) life.clock.jump();
  }
  expect(stops).toMatchObject([{ why: 'ended', outcome: { type: 'cost-exhausted' } }]);
  const reports = pages.events.filter((event) => event.type === 'run.output');
  expect(reports.length).toBeGreaterThan(5);
  expect(reports.length).toBeLessThanOrEqual(REPORTS / 50 + 1);
  expect(reports.at(-1)).toMatchObject({ cost: { usd: REPORTS / 100, source: 'reported' } });
  const end = pages.events.find(({ type }) => type === 'run.ended');
  const started = pages.events.find(({ type }) => type === 'run.started');
  expect((end?.at ?? 0) - (started?.at ?? 0)).toBeLessThanOrEqual(REPORTS + 50);
});
