import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createLoop } from '../owner/create-loop.ts';
import { presets } from '../loop/presets.ts';
import { drive } from './drive.ts';

it('S4.99 exits 0 after SIGTERM pauses the loop, and puts the previous signal handlers back', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-drive-')));
  vi.stubEnv('XDG_STATE_HOME', join(folder, 'state'));
  const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => {
    printed.mockRestore();
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });
  const { policy } = presets.swarm;
  const created = await createLoop({
    workspace: folder,
    name: 'it',
    policy: { ...policy, limits: { ...policy.limits, iterations: 2 } },
    agent: { kind: 'custom', argv: ['sh', '-c', 'cat >/dev/null'] },
    prompt: { text: 'x' },
    env: { PATH: process.env['PATH'] ?? '' },
    fresh: false,
    parent: null,
  });
  const loop = created.own();
  const before = process.listeners('SIGTERM');
  const driving = drive(loop, {});
  const added = process.listeners('SIGTERM').filter((listener) => !before.includes(listener));
  expect(added).toHaveLength(1);
  for (const listener of added) listener('SIGTERM');
  expect(await driving).toBe(0);
  expect(loop.state).toMatchObject({ outcome: null, control: { paused: true } });
  expect(process.listeners('SIGTERM')).toEqual(before);
});
