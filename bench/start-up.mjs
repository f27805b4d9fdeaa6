// How long a person waits for a short command, and until an agent starts.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { medians, NODE } from './measure.mjs';
import { repositoryOf, SMALL } from './repository.mjs';

export function startUp() {
  const box = repositoryOf(SMALL);
  const agent = box.program('agent', '#!/bin/sh\nread line\necho done\n');
  box.ralph('run', '-q', '-f', 'PROMPT.md', '--name', 'ended', '-m', '3', '--', agent);
  const { bare, ...all } = medians(15, {
    bare: () => box.bareNode(),
    version: () => box.ralph('--version').ms,
    status: () => box.ralph('status', 'ended').ms,
    stop: () => box.ralph('stop', 'ended').ms,
    start: () => timeToAgent(box),
  });
  const row = (what, ours, limit) => ({ what, ours, unit: 'ms', bare, baseline: NODE, limit });
  return [
    row('`ralph --version`', all.version, 1.5),
    row('`ralph status` of an ended loop', all.status, 3),
    row('`ralph stop` of an ended loop', all.stop, 3),
    row("`ralph run` in a small repository, until the agent's start", all.start, 8),
  ];
}

/** From the start of the command to the moment that the agent notes as its first act. */
function timeToAgent(box) {
  const file = join(box.root, 'started');
  const agent = box.program('notes-its-start', `#!/bin/bash\necho "$EPOCHREALTIME" >${file}\nread -r line\n`);
  rmSync(file, { force: true });
  const began = Date.now();
  box.ralph('run', '-q', '-f', 'PROMPT.md', '-m', '1', '--', agent);
  return Number(readFileSync(file, 'utf8')) * 1000 - began;
}
