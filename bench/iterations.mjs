// The time of an iteration, compared with the bare loop `while :; do cat PROMPT.md | agent; done`.
import { join } from 'node:path';
import { gapsIn, median, medians, scratch } from './measure.mjs';

const COUNT = 200;

export function iterations() {
  const box = scratch();
  const agent = box.program('agent', '#!/bin/sh\nread line\necho done\n');
  const bare = box.program(
    'bare',
    `#!/bin/sh\ni=0\nwhile [ $i -lt ${COUNT} ]; do cat PROMPT.md | ${agent}; i=$((i+1)); done\n`,
  );
  // No files are deleted in between: a file system is slow to create files where many were just deleted.
  const ours = () => {
    return box.ralph('run', '-q', '-f', 'PROMPT.md', '-m', String(COUNT), '--', agent).ms;
  };
  const short = () => {
    return box.ralph('run', '-q', '-f', 'PROMPT.md', '-m', '1', '--', agent).ms;
  };
  const all = medians(9, { bare: () => box.time(bare, []).ms, ours, short });
  const perIteration = (all.ours - all.short) / (COUNT - 1);
  const perBareIteration = all.bare / COUNT;
  const gaps = measureGaps(box);
  box.done();
  return [
    {
      what: 'an iteration (shim, sync and sweep included)',
      ours: `${perIteration.toFixed(2)} ms`,
      against: `${perBareIteration.toFixed(2)} ms, bare shell loop`,
      ratio: perIteration / perBareIteration,
      limit: 3,
    },
    {
      what: "from an agent's exit to the next one's start",
      ours: `${gaps.ours.toFixed(2)} ms`,
      against: `${gaps.bare.toFixed(2)} ms, bare shell loop`,
      ratio: gaps.ours / gaps.bare,
      limit: 3.5,
    },
  ];
}

/** Measures with an agent that logs its start and end without starting another program. */
function measureGaps(box) {
  const log = join(box.root, 'times');
  const agent = box.program(
    'timed',
    `#!/bin/bash\necho "$EPOCHREALTIME" >>${log}\nread -r line\necho "$EPOCHREALTIME" >>${log}\n`,
  );
  const bare = box.program(
    'bare-timed',
    `#!/bin/sh\ni=0\nwhile [ $i -lt ${COUNT} ]; do cat PROMPT.md | ${agent}; i=$((i+1)); done\n`,
  );
  const gaps = (work) => {
    box.program('times', '');
    work();
    return median(gapsIn(log));
  };
  return medians(5, {
    bare: () => gaps(() => box.time(bare, [])),
    ours: () =>
      gaps(() => {
        box.ralph('run', '-q', '-f', 'PROMPT.md', '-m', String(COUNT), '--', agent);
      }),
  });
}
