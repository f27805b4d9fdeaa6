// The time to stop an agent, and the delay caused by a grandchild that holds the output open.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { ended, median, scratch, until } from './measure.mjs';

const GRACE = 300;

export async function stopping() {
  const box = scratch();
  const ready = join(box.root, 'ready');
  const cooperative = box.program('cooperative', `#!/bin/sh\n: >${ready}\nexec sleep 300\n`);
  const stubborn = box.program(
    'stubborn',
    `#!/bin/sh\ntrap '' TERM\nsetsid sleep 301 &\nsleep 302 &\n: >${ready}\nwhile :; do sleep 1; done\n`,
  );
  const cooperativeMs = await measure(box, ready, cooperative);
  const stubbornMs = await measure(box, ready, stubborn);
  const left = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => /^sleep 30[0-2]$/.test(line)).length;

  const times = join(box.root, 'times');
  const leaves = box.program(
    'leaves',
    `#!/bin/bash\necho "$EPOCHREALTIME" >>${times}\n(trap '' TERM; exec sleep 303) &\necho "$EPOCHREALTIME" >>${times}\n`,
  );
  box.clear();
  box.ralph('run', '-q', '-f', 'PROMPT.md', '-m', '4', '--kill-grace', `${GRACE}ms`, '--', leaves);
  return [
    row('stopping a cooperative agent', cooperativeMs, 20),
    row(
      `stopping a stubborn agent with children, one of them in its own session (grace ${GRACE} ms)`,
      stubbornMs,
      GRACE + 50,
    ),
    { what: 'processes left after that', ours: left, unit: '', limit: 0 },
    row(
      `delay by a grandchild that ignores SIGTERM and holds the output open (grace ${GRACE} ms)`,
      median(gapsIn(times)),
      GRACE + 50,
    ),
  ];
}

/** From the second signal to the end of the run in the journal. */
async function measure(box, ready, agent) {
  const values = [];
  for (let round = 0; round < 5; round++) {
    box.clear();
    rmSync(ready, { force: true });
    const child = box.start(
      'run',
      '-q',
      '-f',
      'PROMPT.md',
      '--name',
      'x',
      '--kill-grace',
      `${GRACE}ms`,
      '--',
      agent,
    );
    await until(() => existsSync(ready));
    const journal = box.journal('x');
    child.kill('SIGINT');
    await until(() => readFileSync(journal, 'utf8').includes('"signal"'));
    child.kill('SIGINT');
    await ended(child);
    const events = readFileSync(journal, 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => JSON.parse(line).event);
    const asked = events.findLast(({ type }) => type === 'control.received').at;
    values.push(events.find(({ type }) => type === 'run.ended').at - asked);
  }
  return median(values);
}

/** Milliseconds from the end of one agent to the start of the next, from a file in which each logged both moments. */
function gapsIn(file) {
  const stamps = readFileSync(file, 'utf8').trim().split('\n').map(Number);
  const gaps = [];
  for (let index = 2; index < stamps.length; index += 2)
    gaps.push((stamps[index] - stamps[index - 1]) * 1000);
  return gaps;
}

function row(what, ours, limit) {
  return { what, ours, unit: 'ms', limit };
}
