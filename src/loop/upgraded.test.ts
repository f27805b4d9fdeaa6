import { expect, it } from 'vitest';
import type { Policy } from './policy.ts';
import { presets } from './presets.ts';
import { upgraded } from './upgraded.ts';

it('runs a loop of an earlier version as a plain process, as that version did', () => {
  const { inactivityOf: _, readyMs: __, ...timeouts } = presets.swarm.policy.timeouts;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an earlier version did not have these
  const earlier = { ...presets.swarm.policy, host: 'tmux', timeouts } as Policy;
  expect(upgraded(earlier)).toMatchObject({
    host: 'process',
    timeouts: { inactivityMs: 60_000, inactivityOf: 'output', readyMs: 120_000 },
  });
  const { posts: ___, ...silent } = presets.conductor.policy;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an earlier version did not have it
  expect(upgraded(silent as Policy).posts).toBe('people');
  const { progressLink: ____, ...unlinked } = presets.architect.policy;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an earlier version did not have it
  expect(upgraded(unlinked as Policy).progressLink).toBe(false);
  const { commitMessage: _____, ...committing } = presets['ralph-cli'].policy;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an earlier version did not have it
  expect(upgraded(committing as Policy).commitMessage).toBe('paragraphs');
  const interactive: Policy = { ...presets.swarm.policy, host: 'tmux' };
  expect(upgraded(interactive)).toEqual(interactive);
});
