// Creates loops in the background, as `ralph run --detach` does, but many in one process. Its input is JSON: each loop has a
// workspace, a name and the agent's command line. Prints their ids.
import { createLoop } from '../dist/owner/create-loop.js';
import { DEFAULT_POLICY } from '../dist/loop/default-policy.js';
import { enlist } from '../dist/home/background.js';
import { readFileSync } from 'node:fs';

for (const { workspace, name, argv } of JSON.parse(readFileSync(0, 'utf8'))) {
  const loop = await createLoop({
    workspace,
    name,
    policy: DEFAULT_POLICY,
    agent: { kind: 'custom', argv },
    prompt: { text: 'do it' },
    env: process.env,
    place: 'background',
    fresh: false,
    parent: null,
  });
  enlist(loop.spec.id);
  loop.giveAway();
  process.stdout.write(`${loop.spec.id}\n`);
}
