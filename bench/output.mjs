// The time and memory that a flood of output takes.
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ended, medians, memory, peakOf, scratch } from './measure.mjs';

export async function output() {
  const box = scratch();
  const flood = box.program(
    'flood',
    '#!/bin/sh\nyes "all work and no play makes jack a dull boy" | head -c 500000000\n',
  );
  const pipe = box.program(
    'pipe',
    `#!/bin/sh\n${flood} | tee ${join(box.root, 'copy')} | grep -c '<promise>'\n`,
  );
  const run = (...more) => {
    box.clear();
    return box.ralph('run', '-q', '-f', 'PROMPT.md', '-m', '1', ...more).ms;
  };
  const all = medians(3, { pipe: () => box.time(pipe, []).ms, ours: () => run('--', flood) });
  box.clear();
  const peak = await peakOf(box, ['run', '-q', '-f', 'PROMPT.md', '-m', '1', '--', flood]);
  const lines = box.program(
    'lines',
    '#!/bin/sh\nfor i in 1 2; do head -c 33554432 /dev/zero | tr "\\\\0" x; echo; done\n',
  );
  const long = medians(3, { nothing: () => run('--', 'true'), lines: () => run('--', lines) });
  box.clear();
  rmSync(join(box.root, 'copy'));
  return [
    {
      what: '500 MB of output',
      ours: all.ours / 1000,
      unit: 's',
      bare: all.pipe / 1000,
      baseline: '`agent \\| tee file \\| grep`',
      limit: 2.5,
    },
    { what: 'peak memory while it reads 500 MB', ours: peak, unit: 'MB', limit: 90 },
    {
      what: 'two lines of 32 MB, on top of a run without output',
      ours: (long.lines - long.nothing) / 1000,
      unit: 's',
      limit: 1,
    },
  ];
}

/** An agent works for minutes. Node collects the garbage of the start-up once a process is idle for some seconds. */
const AT_REST_MS = 30_000;

/** Memory of a loop while its agent runs, compared with a bare Node process, and over many iterations. */
export async function memoryOverTime() {
  const box = scratch();
  const samples = join(box.root, 'samples');
  // The agent samples Ralph, which is the parent of the shim, its own parent.
  const agent = box.program(
    'samples-parent',
    `#!/bin/sh\nshim=$PPID\nralph=$(sed 's/.*) . \\([0-9]*\\) .*/\\1/' /proc/$shim/stat)\ngrep VmRSS /proc/$ralph/status >>${samples}\n`,
  );
  box.ralph('run', '-q', '-f', 'PROMPT.md', '-m', '500', '--', agent);
  const values = readFileSync(samples, 'utf8')
    .trim()
    .split('\n')
    .map((line) => Number(/(\d+)/.exec(line)?.[1]) / 1024);
  const peakFrom = (from) => Math.max(...values.slice(from, from + 100));
  const bare = box.program('bare.mjs', 'setInterval(() => {}, 1000);\n');
  const node = spawn(process.execPath, [bare], { env: box.env, stdio: 'ignore' });
  const hold = box.program('hold', '#!/bin/sh\nexec sleep 120\n');
  box.clear();
  const loop = box.start('run', '-q', '-f', 'PROMPT.md', '-m', '1', '--kill-grace', '1', '--', hold);
  await new Promise((resolve) => {
    setTimeout(resolve, AT_REST_MS);
  });
  const base = memory(node.pid);
  node.kill();
  const ours = memory(loop.pid);
  loop.kill('SIGTERM');
  loop.kill('SIGTERM');
  setTimeout(() => loop.kill('SIGTERM'), 50);
  await ended(loop);
  return [
    {
      what: 'memory of one loop with a running agent, at rest',
      ours,
      unit: 'MB',
      bare: base,
      baseline: 'bare Node process',
      limit: 1.3,
    },
    {
      what: 'memory over 500 iterations: peak of the last 100',
      ours: peakFrom(400),
      unit: 'MB',
      bare: peakFrom(100),
      baseline: 'peak of the second 100',
      limit: 1.1,
    },
  ];
}
