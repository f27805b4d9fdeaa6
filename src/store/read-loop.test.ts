import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { keep, kept } from './kept-environment.ts';
import { readAllLoops } from './read-loop.ts';
import { register, registered } from './registry.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-read-loop-'));
  vi.stubEnv('XDG_STATE_HOME', join(folder, 'state'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

it('forgets a loop whose folder is gone, and keeps one that is just being created', () => {
  const loops = ['created', 'gone'].map((id) => {
    const loop = { id, name: id, workspace: folder, folder: join(folder, '.ralph', 'loops', id) };
    register(loop);
    keep(id, { env: { A: id }, argv: [] });
    return loop;
  });
  mkdirSync(loops[0]?.folder ?? '', { recursive: true });
  expect(readAllLoops()).toEqual([]);
  expect(registered().map(({ id }) => id)).toEqual(['created']);
  expect(kept('created')?.env).toEqual({ A: 'created' });
  expect(kept('gone')).toBeNull();
});
