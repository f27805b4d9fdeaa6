// What an iteration costs over the bare loop `while :; do cat PROMPT.md | agent; done`.
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
  // Nothing is removed in between: a file system takes long to make files where many were just removed.
  const ours = () => {
    return box.ralph('run', '-q', '-f', 'PROMPT.md', '-m', String(COUNT), '--', agent).ms;
  };
  const short = () => {
    return box.ralph('run', '-q', '-f', 'PROMPT.md', '-m', '1', '--', agent).ms;
  };
  const all = medians(9, { bare: () => box.time(bare, []).ms, ours, short });
  const own = (all.ours - all.short) / (COUNT - 1);
  const theirs = all.bare / COUNT;
  const gaps = measureGaps(box);
  box.done();
  return [
    {
      what: 'an iteration (shim, sync and sweep included)',
      ours: `${own.toFixed(2)} ms`,
      against: `${theirs.toFixed(2)} ms, bare shell loop`,
      ratio: own / theirs,
      limit: 3.5,
    },
    {
      // 4 ms where the bare loop takes 1.15 ms.
      what: "from one agent's exit to the next agent's start",
      ours: `${gaps.ours.toFixed(2)} ms`,
      against: `${gaps.bare.toFixed(2)} ms, bare shell loop`,
      ratio: gaps.ours / gaps.bare,
      limit: 3.5,
    },
  ];
}

/** An agent that writes down when it begins and when it ends, without starting a program for it. */
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
