import { mkdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import { presets } from '../loop/presets.ts';
import { createLoop } from '../owner/create-loop.ts';
import { isEnlisted, refuse } from '../home/background.ts';
import { takeLock } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { handOver } from './hand-over.ts';
import { daemonFolder, daemonLock } from './place.ts';

it('says why the daemon did not take the loop over', async () => {
  const workspace = openLibraryFolder();
  const loop = await createLoop({
    workspace,
    name: 'it',
    policy: presets.default.policy,
    agent: { kind: 'custom', argv: ['true'] },
    prompt: { text: 'x' },
    env: { PATH: process.env['PATH'] ?? '' },
    place: 'background',
    fresh: false,
    parent: null,
  });
  // This process is the daemon, which refuses every loop.
  mkdirSync(daemonFolder(), { recursive: true });
  expect(await takeLock(daemonLock(), thisProcess())).toMatchObject({ taken: true });
  const giving = handOver(loop);
  expect(isEnlisted(loop.spec.id)).toBe(true);
  refuse(loop.spec.id, 'it is Sunday');
  await expect(giving).rejects.toThrow('the daemon cannot run "it": it is Sunday; its log is ');
});
