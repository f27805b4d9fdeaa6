import { expect, it } from 'vitest';
import { openArena } from './arena.ts';
import { install } from './install.ts';
import { REAL_AGENTS } from './real-agent.ts';
import { runTooEarly, TOO_EARLY } from './whole-loop.ts';

/** By far the smallest download: 20 MB, a few seconds. */
const agent = REAL_AGENTS.gemini;

it('a real agent claims too early, fixes the failing check with its own shell, and is done', async ({
  skip,
}) => {
  const bin = await install(agent.package, 45_000).catch((error: unknown) => {
    const [, why = ''] = error instanceof Error ? error.message.split('\n') : [];
    return skip(`because ${agent.package.name} cannot be downloaded from the registry: ${why}`);
  });
  expect.hasAssertions();
  await runTooEarly(agent, await openArena(agent, bin, TOO_EARLY));
}, 120_000);
