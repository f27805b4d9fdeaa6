import { expect, it } from 'vitest';
import { openArena } from './arena.ts';
import { install } from './install.ts';
import { REAL_AGENTS } from './real-agent.ts';
import { liveThrough, TOO_EARLY } from './whole-loop.ts';

/** The smallest of them to fetch by far: twenty megabytes, a few seconds. */
const agent = REAL_AGENTS.gemini;

it('a real agent is contradicted by a check, fixes it with its own shell, and is done', async ({ skip }) => {
  const bin = await install(agent.package, 45_000).catch((error: unknown) => {
    const [, why = ''] = error instanceof Error ? error.message.split('\n') : [];
    const message = `skipped: ${agent.package.name} could not be fetched from the registry: ${why}`;
    // The reporter keeps the reason of a skipped test to itself.
    process.stderr.write(`${message}\n`);
    return skip(message);
  });
  expect.hasAssertions();
  await liveThrough(agent, await openArena(agent, bin, TOO_EARLY));
}, 120_000);
