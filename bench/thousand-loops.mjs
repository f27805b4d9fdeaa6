// A thousand loops with sleeping agents in one daemon: its memory, its pauses, and how long it takes to recover and to stop them.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memory, scratch } from './measure.mjs';

const COUNT = Number(process.env.RALPH_BENCH_LOOPS ?? 1000);
/** Loops whose agents start processes all the time. */
const BUSY = 20;
const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const CREATE = fileURLToPath(new URL('create-loops.mjs', import.meta.url));
const EVENT_LOOP = fileURLToPath(new URL('event-loop.mjs', import.meta.url));
const IDLE_MS = 10_000;
const SETTLED_MS = 30_000;
const TIMEOUT_MS = 300_000;

export async function thousandLoops() {
  const box = scratch();
  const herd = new Herd(box);
  try {
    return await measure(herd);
  } finally {
    await herd.end();
  }
}

async function measure(herd) {
  const sleeping = herd.create('sleeper', COUNT, ['/bin/sh', '-c', 'exec sleep 86400']);
  herd.startDaemon();
  await herd.following(COUNT);
  const delays = [await herd.longestDelay()];
  // V8 collects what the start has left about ten seconds later, for half a second once, and compiles what runs often.
  await pause(SETTLED_MS);
  const rss = memory(herd.daemon.pid);
  const idle = await cpuOver(herd.daemon.pid, IDLE_MS);

  await herd.measureDelay();
  const busy = herd.create('busy', BUSY, ['/bin/sh', '-c', 'while :; do sleep 0.05; done']);
  await herd.following(COUNT + BUSY);
  const [paused, stopped] = sleeping;
  const pauseMs = herd.command(paused, 'pause');
  const stopMs = await timed(async () => {
    herd.command(stopped, 'stop', '--now');
    await until(() => herd.hasEnded(stopped));
  });
  await herd.stop(busy);
  await until(() => herd.enlisted() === COUNT - 1);
  delays.push(await herd.longestDelay());
  const recoverMs = await timed(async () => {
    process.kill(herd.daemon.pid, 'SIGKILL');
    herd.startDaemon();
    await herd.following(COUNT - 1);
  });
  delays.push(await herd.longestDelay());
  await herd.measureDelay();
  const stopAllMs = await timed(async () => {
    await herd.stop(sleeping);
    await until(() => herd.enlisted() === 0);
  });
  delays.push(await herd.longestDelay());
  const left = herd.agents().length;
  return [
    row(`memory of a daemon with ${COUNT} loops`, rss, 200, 'MB'),
    row(`its CPU time while their agents sleep`, idle * 100, 2, '%'),
    row(`its longest pause, also while it starts, recovers or stops them`, Math.max(...delays), 100, 'ms'),
    row(`recovering them after SIGKILL`, recoverMs, 10_000, 'ms'),
    row(`ralph pause while ${BUSY} agents start processes`, pauseMs, 1000, 'ms'),
    row(`ralph stop --now at the same time, until the loop has ended`, stopMs, 1000, 'ms'),
    row(`stopping all of them`, stopAllMs, 10_000, 'ms'),
    row(`processes left after that`, left, 0, ''),
  ];
}

/** A daemon and its loops, in a folder of their own. */
class Herd {
  daemon = null;
  #root;
  #env;
  #delays;

  constructor(box) {
    this.#root = box.root;
    this.#delays = join(box.root, 'delays');
    this.#env = { ...box.env, RALPH_STATE: join(box.root, 'state'), RALPH_BENCH_DELAYS: this.#delays };
  }

  /** Creates loops with this agent; each has its own workspace. */
  create(name, count, argv) {
    const loops = Array.from({ length: count }, (_, index) => {
      const workspace = join(this.#root, 'work', `${name}-${index}`);
      mkdirSync(workspace, { recursive: true });
      return { workspace, name: 'it', argv };
    });
    const { status, stdout, stderr } = spawnSync(process.execPath, [CREATE], {
      env: this.#env,
      input: JSON.stringify(loops),
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`cannot create loops: ${stderr}`);
    return stdout
      .trim()
      .split('\n')
      .map((id, index) => ({ id, workspace: loops[index].workspace }));
  }

  startDaemon() {
    const log = openSync(join(this.#root, 'daemon.log'), 'a');
    this.daemon = spawn(process.execPath, ['--import', EVENT_LOOP, MAIN, 'daemon', 'run'], {
      cwd: '/',
      env: this.#env,
      detached: true,
      stdio: ['ignore', log, log],
    });
  }

  /** Resolves when the daemon follows the output of this many agents. */
  following(count) {
    return until(() => this.#followed(count) >= count, 200);
  }

  #followed(least) {
    const folder = `/proc/${this.daemon.pid}/fd`;
    if (!existsSync(folder)) return 0;
    const names = readdirSync(folder);
    // A loop has more than one file, and to read so many links slows the daemon down.
    if (names.length < 3 * least) return 0;
    return names.filter((name) => linkAt(join(folder, name)).endsWith('/stdout.log')).length;
  }

  /** Measures the delay of the daemon's event loop from now on; a new daemon does so from its start. */
  measureDelay() {
    return this.#signalDelays();
  }

  /** The longest delay since then, in milliseconds. */
  async longestDelay() {
    await this.#signalDelays();
    return Number(readFileSync(this.#delays, 'utf8'));
  }

  async #signalDelays() {
    rmSync(this.#delays, { force: true });
    process.kill(this.daemon.pid, 'SIGUSR2');
    await until(() => existsSync(this.#delays) && readFileSync(this.#delays, 'utf8') !== '');
  }

  command({ workspace }, ...args) {
    const began = performance.now();
    const [command, ...options] = args;
    const { status, stderr } = spawnSync(process.execPath, [MAIN, command, 'it', ...options], {
      cwd: workspace,
      env: this.#env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`ralph ${args.join(' ')}: ${stderr}`);
    return performance.now() - began;
  }

  hasEnded({ workspace }) {
    return readFileSync(join(workspace, '.ralph/loops/it/state.json'), 'utf8').includes('"stopped"');
  }

  /** Puts a stop into the inbox of each loop. */
  async stop(loops) {
    const { post } = await import('../dist/home/inbox.js');
    for (const { id } of loops) {
      const inbox = join(this.#root, 'state', 'loops', id, 'inbox');
      post(inbox, { type: 'stop', now: true, by: 'person' }, Date.now());
    }
  }

  enlisted() {
    return readdirSync(join(this.#root, 'state', 'background')).length;
  }

  /** The processes of all loops. */
  agents() {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => environmentOf(pid).includes(`RALPH_LOOP_FOLDER=${this.#root}/`))
      .map(Number);
  }

  /** Ends the daemon and every agent. */
  async end() {
    kill(this.daemon?.pid);
    await until(() => {
      const left = this.agents();
      left.forEach(kill);
      return left.length === 0;
    });
  }
}

function kill(pid) {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

function linkAt(path) {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function environmentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return '';
  }
}

/** The share of a core that a process uses during this time. */
async function cpuOver(pid, ms) {
  const before = cpuMs(pid);
  const began = performance.now();
  await pause(ms);
  return (cpuMs(pid) - before) / (performance.now() - began);
}

function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function until(look, everyMs = 50) {
  for (const end = performance.now() + TIMEOUT_MS; !look();) {
    if (performance.now() > end) throw new Error('the daemon did not get there in time');
    await pause(everyMs);
  }
}

function pause(ms) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function row(what, ours, limit, unit) {
  return { what, ours, limit, unit };
}
