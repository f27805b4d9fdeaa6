import { existsSync, readdirSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import type { Policy } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import { enlist } from '../home/background.ts';
import { readEvents, readLoopAt } from '../home/read-loop.ts';
import { summaryOf } from '../loops/summary.ts';
import { registeredIn } from '../home/registry.ts';
import { type LoopFolder, loopsFolder } from '../home/home.ts';
import { createLoop } from './create-loop.ts';
import type { CreatedLoop } from './created-loop.ts';
import { takeOver } from './take-over.ts';

let workspace: string;
beforeEach(() => {
  workspace = openLibraryFolder();
});

function create(
  place: 'background' | undefined,
  policy: Policy = presets.default.policy,
): Promise<CreatedLoop> {
  return createLoop({
    workspace,
    name: 'it',
    policy,
    agent: { kind: 'custom', argv: ['true'] },
    prompt: { text: 'x' },
    env: { PATH: process.env['PATH'] ?? '' },
    place,
    fresh: false,
    parent: null,
  });
}

function statusOf(folder: LoopFolder): string | undefined {
  const loop = readLoopAt(folder);
  return loop === null ? undefined : summaryOf(loop).status;
}

const typesIn = (folder: LoopFolder): readonly string[] => readEvents(folder).map(({ type }) => type);

it('has its first events and no files that an owner makes', async () => {
  const created = await create('background');
  expect(typesIn(created.folder)).toEqual(['loop.created']);
  expect(existsSync(created.folder.asked)).toBe(false);
  expect(readdirSync(created.folder.workspaceFolder.path)).toEqual(['lock']);
  expect(statusOf(created.folder)).toBe('running');
  created.giveAway();
});

it('is shown as running while it waits for the daemon, and as left if the daemon should not own it', async () => {
  const created = await create('background');
  created.giveAway();
  expect(statusOf(created.folder)).toBe('left');
  enlist(created.spec.id);
  expect(statusOf(created.folder)).toBe('running');
  const loop = await takeOver(workspace, 'it', { by: 'background' });
  expect(typesIn(created.folder)).toEqual(['loop.created', 'owner.changed']);
  loop.close();
  expect(statusOf(created.folder)).toBe('crashed');
});

it('of the foreground has crashed if its creator never owned it', async () => {
  const created = await create(undefined);
  created.giveAway();
  expect(statusOf(created.folder)).toBe('crashed');
});

it('is not created with a policy that no loop can have, and nothing of it is left', async () => {
  const { policy } = presets.default;
  const wrong = { ...policy, limits: { ...policy.limits, iterations: -1 } };
  await expect(create(undefined, wrong)).rejects.toThrow('loop.created is not admitted');
  expect(registeredIn(workspace)).toEqual([]);
  expect(readdirSync(loopsFolder())).toEqual([]);
});

it('gives its lock back if it is closed by its first owner, whose journal goes on after its first events', async () => {
  const created = await create(undefined);
  const loop = created.own();
  loop.receive({ type: 'pause' });
  expect(typesIn(created.folder)).toEqual(['loop.created', 'control.received']);
  loop.close();
  (await takeOver(workspace, 'it', { by: 'background' })).close();
});
