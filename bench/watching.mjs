// `ralph watch` on a real terminal: its memory and CPU time with 200 loops, and while an agent prints 5000 lines a second.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ended, memory, PROJECT, scratch, until } from './measure.mjs';

const COUNT = 200;
const MEASURED_MS = 10_000;
const MAIN = join(PROJECT, 'dist/cli/main.js');
/** 500 lines every tenth of a second. */
const FLOOD = `#!/bin/sh
i=0
while :; do seq -f "line %.0f of a flood of output with a few words in it" $i $((i + 499)); i=$((i + 500)); sleep 0.1; done
`;

export async function watching() {
  const box = scratch();
  const made = box.time(process.execPath, [
    join(PROJECT, 'bench/end-loops.mjs'),
    box.workspace,
    String(COUNT),
  ]);
  if (made.status !== 0) throw new Error(`cannot run loops: ${made.stderr}`);
  const socket = join(box.root, 'tmux');
  const tmux = (...args) => box.time('tmux', ['-f', '/dev/null', '-S', socket, ...args]).stdout.trim();
  const loop = box.start(
    'run',
    '-q',
    '-f',
    'PROMPT.md',
    '--name',
    'flood',
    '-m',
    '1',
    '--',
    box.program('flood', FLOOD),
  );
  try {
    tmux(
      'new-session',
      '-d',
      '-s',
      'w',
      '-x',
      '200',
      '-y',
      '50',
      '-c',
      box.workspace,
      process.execPath,
      MAIN,
      'watch',
    );
    const shows = (text) => until(() => tmux('capture-pane', '-p', '-t', 'w').includes(text));
    await shows(`${COUNT + 1} loops, 1 running`);
    const pid = Number(tmux('display-message', '-p', '-t', 'w', '#{pane_pid}'));
    const idle = await share(pid);
    const rss = memory(pid);
    tmux('send-keys', '-t', 'w', '-l', '/flood\r');
    await shows('filter: flood');
    tmux('send-keys', '-t', 'w', 'Home', 'Enter');
    await shows('[why]');
    tmux('send-keys', '-t', 'w', '-l', '2');
    await shows('of a flood of output');
    const written = join(box.root, 'written');
    tmux('pipe-pane', '-t', 'w', `exec cat >${written}`);
    const busy = await share(pid);
    tmux('pipe-pane', '-t', 'w');
    return [
      row(`memory of \`ralph watch\` with ${COUNT + 1} loops`, rss, 160, 'MB'),
      row('its CPU time then, while one of them runs', idle, 15, '%'),
      row('its peak memory while it shows a flood of 5000 lines a second', memory(pid, 'VmHWM'), 160, 'MB'),
      row('its CPU time then', busy, 50, '%'),
      row('its repaints a second then', framesIn(written) / (MEASURED_MS / 1000), 10.5, ''),
    ];
  } finally {
    spawnSync('tmux', ['-S', socket, 'kill-server'], { stdio: 'ignore' });
    box.ralph('kill', 'flood');
    await ended(loop);
  }
}

/** A frame begins with the way back to its first line. */
function framesIn(file) {
  // oxlint-disable-next-line no-control-regex -- it is what moves the cursor up
  return existsSync(file) ? (readFileSync(file, 'latin1').match(/\u001B\[4\dA/g) ?? []).length : 0;
}

function row(what, ours, limit, unit) {
  return { what, ours, limit, unit };
}

/** The CPU time of a process over a while, in percent of one core. */
async function share(pid) {
  const before = ticks(pid);
  await new Promise((resolve) => {
    setTimeout(resolve, MEASURED_MS);
  });
  return ((ticks(pid) - before) * TICK_MS * 100) / MEASURED_MS;
}

/** Linux counts in hundredths of a second. */
const TICK_MS = 10;

function ticks(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /s, '').split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
