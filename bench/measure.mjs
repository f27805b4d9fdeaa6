// Shared by all measurements: a scratch folder, the built command, and medians.
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PROJECT = fileURLToPath(new URL('..', import.meta.url));

/** The baseline of short commands. */
export const NODE = '`node -e 0`';

/** On a disk, like a workspace, and outside of any repository. */
const PLACE = process.env.RALPH_BENCH_FOLDER ?? '/var/tmp';

const MAIN = join(PROJECT, 'dist/cli/main.js');
const FRONT = join(PROJECT, 'plugins/claude-code/hooks/ralph-hook.sh');

/** Deleted in the end: the disk would still be busy with it during the next measurement. */
const roots = [];
process.once('exit', () => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

/** A workspace outside of any repository, with its own home. */
export function scratch() {
  const root = mkdtempSync(join(PLACE, 'ralph-bench-'));
  roots.push(root);
  const workspace = join(root, 'work');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'PROMPT.md'), 'do it\n');
  const env = { ...process.env, HOME: root, XDG_STATE_HOME: join(root, 'state') };
  // Node reads a certificate bundle at every start, which would be measured too.
  delete env.NODE_EXTRA_CA_CERTS;
  return {
    root,
    workspace,
    env,
    /** Creates an executable file. */
    program(name, text) {
      const path = join(root, name);
      writeFileSync(path, text);
      chmodSync(path, 0o755);
      return path;
    },
    /** Runs a command to its end; `ms` is its duration. */
    time(command, args, input = '', more = {}) {
      const all = { ...env, ...more };
      const began = performance.now();
      const { status, stdout, stderr } = spawnSync(command, args, { cwd: workspace, env: all, input });
      const ms = performance.now() - began;
      return { ms, status, stdout: String(stdout), stderr: String(stderr) };
    },
    /** The duration of `node -e 0`. */
    bareNode() {
      return this.time(process.execPath, ['-e', '0']).ms;
    },
    /** The hook of a session as Claude Code calls it, with an event on stdin. */
    hook(event, ...words) {
      const named = { CLAUDE_CODE_SESSION_ID: event.session_id };
      return this.time('/bin/sh', [FRONT, 'claude', ...words], JSON.stringify(event), named);
    },
    /** Exit code 1 is a limit that was reached; any other failure would look like a fast run. */
    ralph(...args) {
      const run = this.time(process.execPath, [MAIN, ...args]);
      if (run.status !== 0 && run.status !== 1) throw new Error(`ralph ${args.join(' ')}: ${run.stderr}`);
      return run;
    },
    start(...args) {
      return spawn(process.execPath, [MAIN, ...args], { cwd: workspace, env, stdio: 'ignore' });
    },
    /** The journal of a loop: its state is named by an id that begins with its name. */
    journal(name) {
      const loops = join(root, 'state', 'ralph', 'loops');
      const [id = name] = existsSync(loops)
        ? readdirSync(loops).filter((one) => one.startsWith(`${name}-`))
        : [];
      return join(loops, id, 'journal.jsonl');
    },
    /** Deletes what its loops have left, such as large logs, which the disk would write during the next measurement. */
    clear() {
      rmSync(join(workspace, '.ralph'), { recursive: true, force: true });
      rmSync(join(root, 'state'), { recursive: true, force: true });
    },
  };
}

/** The medians of several measurements that take turns, so that a busy moment affects all of them. */
export function medians(rounds, measurements) {
  const results = Object.fromEntries(Object.keys(measurements).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of Object.entries(measurements)) results[name].push(measure());
  }
  return Object.fromEntries(Object.entries(results).map(([name, values]) => [name, median(values)]));
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** Memory of a process in MB: current by default, peak with `VmHWM`. */
export function memory(pid, field = 'VmRSS') {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
}

/** The peak memory of a command, sampled until it exits. */
export async function peakOf(box, args) {
  const child = box.start(...args);
  let peak = 0;
  const timer = setInterval(() => {
    try {
      peak = Math.max(peak, memory(child.pid, 'VmHWM'));
    } catch {
      // It has just exited.
    }
  }, 5);
  await ended(child);
  clearInterval(timer);
  return peak;
}

export function ended(child) {
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code));
  });
}

/** Polls until `look` returns something truthy. */
export async function until(look) {
  for (;;) {
    const found = look();
    if (found) return found;
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}
