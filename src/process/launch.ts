/**
 * Starts shims from a helper shell, because a start from this large process takes twice as long and stops it meanwhile.
 *
 * 1. The shim is the same, in a session of its own (`setsid`). Its parent is the helper shell, which reports its end.
 * 2. The shell opens the files of the agent through our descriptors: no other process can put something else in their place.
 * 3. The first shim of this process, one beside another that still runs, and every one that a shell cannot start is started
 *    directly.
 */
import { closeSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startInShell, type StartedInShell } from './helper-shell.ts';
import { bootId, parseStat, pidNamespace } from './proc-files.ts';
import { processes } from './process.ts';
import type { Birth } from './process-table.ts';
import { openFiles, shimCommand, shimEnvironment, startShim, type Shim, type ShimSpec } from './shim.ts';

/** Starts a shim; throws if that is not possible. Its birth is known, or must be read before the next `await`. */
export async function launchShim(spec: ShimSpec): Promise<Shim> {
  return (launches++ === 0 ? null : await launchFromShell(spec)) ?? startShim(spec);
}

let launches = 0;

async function launchFromShell(spec: ShimSpec): Promise<Shim | null> {
  if (!canLaunch()) return null;
  const descriptors = openFiles(spec);
  try {
    const [stdin, stdout, stderr] = descriptors.map((one) => `/proc/${process.pid}/fd/${one}`);
    const place = { cwd: spec.cwd, env: shimEnvironment(spec.env) };
    const files = { stdin: stdin ?? '', stdout: stdout ?? '', stderr: stderr ?? '' };
    const started = await startInShell(shimCommand(spec), place, files);
    return started === null ? null : launched(started);
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/** Whether this system has what the shell needs. */
function canLaunch(): boolean {
  isPossible ??= existsSync('/proc/self/stat') && SETSID.some((path) => existsSync(path));
  return isPossible;
}

let isPossible: boolean | null = null;
const SETSID = ['/usr/bin/setsid', '/bin/setsid'];

function launched({ stat, ended, release }: StartedInShell): Shim | null {
  const pid = Number.parseInt(stat, 10);
  const startTime = parseStat(stat)?.startTime;
  if (startTime === undefined || !(pid > 0)) return null;
  const birth = { pid, startTime, bootId: bootId(), pidNamespace: pidNamespace() };
  return { pid, birth, ended: ended.then((code) => code ?? endOf(birth)), release };
}

/** The helper shell was killed, so nothing reports the end of the shim. */
async function endOf(birth: Birth): Promise<null> {
  // oxlint-disable-next-line no-await-in-loop -- it is not our child
  while (processes.lives(birth)) await sleep(LOOK_EVERY_MS);
  return null;
}

const LOOK_EVERY_MS = 50;
