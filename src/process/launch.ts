/**
 * Starts shims from a helper shell, because a start from this large process takes twice as long and stops it meanwhile.
 *
 * 1. The shim is the same, in a session of its own (`setsid`). Its parent is the helper shell, which reports its end.
 * 2. The shell opens the files of the agent through our descriptors: no other process can put something else in their place.
 * 3. The first shim of this process, one beside another that still runs, and every one that a shell cannot start is started
 *    directly.
 */
import { closeSync, existsSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startInShell, type StartedInShell } from './helper-shell.ts';
import { bootId, parseStat, pidNamespace } from './proc-files.ts';
import { processes } from './process.ts';
import type { Birth } from './process-table.ts';
import {
  exitStatus,
  openFiles,
  shimCommand,
  shimEnvironment,
  startShim,
  type Shim,
  type ShimSpec,
} from './shim.ts';

/** Starts a shim; throws if that is not possible. Its birth is known, or must be read before the next `await`. */
export async function launchShim(spec: ShimSpec): Promise<Shim> {
  return (launches++ === 0 ? null : await launchFromShell(spec)) ?? startShim(spec);
}

let launches = 0;

async function launchFromShell(spec: ShimSpec): Promise<Shim | null> {
  const setsid = setsidProgram();
  if (setsid === null) return null;
  const descriptors = openFiles(spec);
  try {
    const [stdin, stdout, stderr] = descriptors.map((one) => `/proc/${process.pid}/fd/${one}`);
    const place = { cwd: spec.cwd, env: shimEnvironment(spec.env) };
    const files = { stdin: stdin ?? '', stdout: stdout ?? '', stderr: stderr ?? '' };
    const started = await startInShell([setsid, ...shimCommand(spec)], place, files);
    return started === null ? null : launched(started, spec);
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/**
 * The program that starts a session; null if this system does not have what the shell needs. Not searched for in PATH, where an
 * agent may have put another one.
 */
function setsidProgram(): string | null {
  if (found === undefined) {
    const isOwn = existsSync('/proc/self/stat') && readlinkSync('/proc/self') === String(process.pid);
    found = isOwn ? (SETSID.find((path) => existsSync(path)) ?? null) : null;
  }
  return found;
}

let found: string | null | undefined;
const SETSID = ['/usr/bin/setsid', '/bin/setsid'];

function launched(
  { stat, ended, release }: StartedInShell,
  { folder, hasFiles = true }: Pick<ShimSpec, 'folder' | 'hasFiles'>,
): Shim {
  const pid = Number.parseInt(stat, 10);
  const startTime = parseStat(stat)?.startTime;
  if (startTime === undefined || !(pid > 0)) throw new Error(`cannot read the start of a shim: ${stat}`);
  const birth = { pid, startTime, bootId: bootId(), pidNamespace: pidNamespace() };
  let isReleased = false;
  const end = async (): Promise<number | null> => {
    const code = await ended;
    if (code === null) await endOf(birth, () => isReleased);
    // A shim that was killed has not written the status of the agent.
    const isOwn = code !== null && code > MAX_CODE && hasFiles && exitStatus(folder) === null;
    return isOwn ? null : code;
  };
  return {
    pid,
    birth,
    ended: end(),
    release() {
      isReleased = true;
      release();
    },
  };
}

/** The shell reports a signal as a higher one. */
const MAX_CODE = 128;

/** The helper shell was killed, so nothing reports the end of the shim. */
async function endOf(birth: Birth, isReleased: () => boolean): Promise<void> {
  while (processes.lives(birth)) {
    // oxlint-disable-next-line no-await-in-loop -- it is not our child
    await sleep(LOOK_EVERY_MS, undefined, { ref: !isReleased() });
  }
}

const LOOK_EVERY_MS = 50;
