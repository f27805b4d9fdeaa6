/** Reads the files under `/proc`. A process may exit at any moment; that is never an error, its files are just null. */
import { closeSync, existsSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';

export interface Stat {
  readonly command: string;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly hasTerminal: boolean;
  readonly startTime: string;
  /** In the middle of an `exec`: it has memory, but no environment in it yet. */
  readonly isExecuting: boolean;
  /** Where its environment is in memory, which every `exec` changes. */
  readonly environment: string;
}

export function readStat(pid: number): Stat | null {
  // Most of these processes are gone, and checking is much cheaper than catching what `open` throws.
  if (!existsSync(`/proc/${pid}`)) return null;
  const text = readShort(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The command may contain blanks and parentheses, so fields are counted from the last parenthesis.
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ', 49);
  const [state, parent, group, , terminal] = fields;
  const startTime = fields[19];
  if (state === undefined || group === undefined || startTime === undefined) return null;
  return {
    command: text.slice(text.indexOf('(') + 1, end),
    state,
    parent: Number(parent),
    group: Number(group),
    hasTerminal: terminal !== '0',
    startTime,
    isExecuting: fields[20] !== '0' && fields[47] === '0',
    environment: `${fields[47]}-${fields[48]}`,
  };
}

/** Neither gone nor a zombie. */
export function isAlive(stat: Stat | null): boolean {
  return stat !== null && stat.state !== 'Z' && stat.state !== 'X';
}

/** The variables, each followed by a NUL; null if the process is gone or belongs to another user. */
export function readEnvironment(pid: number): string | null {
  return readText(`/proc/${pid}/environ`);
}

/** The arguments, each followed by a NUL; null if the process is gone. */
export function readArguments(pid: number): string | null {
  return readText(`/proc/${pid}/cmdline`);
}

export function workingDirectory(pid: number): string | null {
  return readLink(`/proc/${pid}/cwd`);
}

/** The PID namespace of a process; null if it is gone or belongs to another user. */
export function namespaceOf(pid: number): string | null {
  return readLink(`/proc/${pid}/ns/pid`);
}

export function listPids(): readonly number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** Threads have a folder in `/proc` too, which no listing shows. */
export function isProcess(pid: number): boolean {
  if (!existsSync(`/proc/${pid}`)) return false;
  return /^Tgid:\s+(\d+)$/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1] === String(pid);
}

/** The pid that the kernel assigned last. */
export function lastPid(): number {
  return Number(readShort('/proc/loadavg')?.trim().split(' ').at(-1) ?? 0);
}

/** Seconds since the process started; `startTime` is in clock ticks since boot. */
export function ageInSeconds(startTime: string): number {
  const uptime = Number(readShort('/proc/uptime')?.split(' ')[0] ?? Number.POSITIVE_INFINITY);
  return uptime - Number(startTime) / TICKS_PER_SECOND;
}

const TICKS_PER_SECOND = 100;

let cachedBootId: string | null = null;
export function bootId(): string {
  cachedBootId ??= readText('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return cachedBootId;
}

let cachedNamespace: string | null = null;
export function pidNamespace(): string {
  cachedNamespace ??= readLink('/proc/self/ns/pid') ?? '';
  return cachedNamespace;
}

/** Shared by all reads: the files are small, and there are many. */
const buffer = Buffer.allocUnsafeSlow(64 * 1024);

/** The content of a file; null if there is none. */
export function readText(path: string): string | null {
  return read(path, false);
}

/** The same for a file of one line, which the kernel returns at once. */
function readShort(path: string): string | null {
  return read(path, true);
}

function read(path: string, isShort: boolean): string | null {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(path, 'r');
    let text = '';
    for (;;) {
      const count = readSync(descriptor, buffer, 0, buffer.length, -1);
      text += buffer.toString('latin1', 0, count);
      if (count === 0 || isShort) return text;
    }
  } catch {
    return null;
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
