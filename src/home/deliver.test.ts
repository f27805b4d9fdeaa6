import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeLoopFolder, removeLoopFolder } from '../../test/rig/loop-folder.ts';
import { deliver } from './deliver.ts';
import type { LoopFolder } from './home.ts';
import { isQueued } from './inbox.ts';
import { namesIn } from '../files/files.ts';
import { thisProcess } from './lock-owner.ts';
import { takeLock } from './lock.ts';

let folder: LoopFolder;
beforeEach(() => {
  folder = makeLoopFolder();
});
afterEach(() => removeLoopFolder(folder));

it(
  'notices at once that the owner has left without taking the request, which then waits for the next one',
  {
    // Less than an owner has to respond.
    timeout: 4000,
  },
  async () => {
    const lock = await takeLock(folder.lock, thisProcess());
    if (!lock.taken) throw new Error('another process has the lock');
    const delivered = deliver({ folder, owner: process.pid }, { type: 'pause' });
    lock.release();
    expect(await delivered).toBe('queued');
    const [file = ''] = namesIn(folder.inbox);
    expect(isQueued(folder.inbox, file.replace('.json', ''))).toBe(true);
  },
);
