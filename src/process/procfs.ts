import { closeSync, existsSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import type { Birth, ProcessTable, Stray } from './process-table.ts';

/** Reads `/proc`. Everything here may be gone the moment after it was read; that is not an error. */
export const procfs: ProcessTable = {
  birth(pid) {
    const found = stat(pid);
    return found === null
      ? null
      : { pid, startTime: found.startTime, bootId: bootId(), pidNamespace: pidNamespace() };
  },

  lives(birth) {
    const found = stat(birth.pid);
    return (
      found !== null &&
      isAlive(found) &&
      found.startTime === birth.startTime &&
      bootId() === birth.bootId &&
      pidNamespace() === birth.pidNamespace
    );
  },

  marked: ({ name, value }) => carrying(`${name}=${value}\0`),

  markedWith: ({ name, value }) => carrying(`${name}=${value}`),

  left({ shim, marker, folder }) {
    const found: number[] = [];
    const strays: Stray[] = [];
    const ownsGroup = isOrWas(shim);
    let vanished = 0;
    for (const pid of younger(shim)) {
      if (pid === shim.pid) continue;
      const known = stat(pid);
      if (known === null) vanished++;
      else if (!isAlive(known)) continue;
      else if (ownsGroup && known.group === shim.pid && isYounger(known, shim)) found.push(pid);
      else {
        const variables = settledEnvironment(pid);
        // One that may not be read is somebody else's; one that is gone may have left a child.
        if (variables === null) vanished += stat(pid) === null ? 1 : 0;
        // It is just becoming another program, and has no environment yet: to be looked at again.
        else if (variables === BECOMING) vanished++;
        else if (carries(variables, `${marker.name}=${marker.value}\0`)) found.push(pid);
        else if (mayBeStray(known, shim) && !carries(variables, `${marker.name}=`) && worksIn(pid, folder))
          strays.push({ pid, command: known.command });
      }
    }
    return { pids: found, vanished, strays };
  },
};

function carrying(start: string): readonly number[] {
  return pids().filter((pid) => carries(environment(pid), start) && isAlive(stat(pid)));
}

/** Whether the group of this number is still the shim's: after a reboot, or with its pid reused, it is a stranger's. */
function isOrWas(shim: Birth): boolean {
  const leader = stat(shim.pid);
  return (
    shim.pid > 0 &&
    shim.bootId === bootId() &&
    shim.pidNamespace === pidNamespace() &&
    (leader === null || leader.startTime === shim.startTime)
  );
}

function isYounger(known: Stat, shim: Birth): boolean {
  return Number(known.startTime) >= Number(shim.startTime);
}

/**
 * What gets away loses its parent, and has no terminal since the shim has none: one that has either is a person's or
 * another program's.
 */
function mayBeStray(known: Stat, shim: Birth): boolean {
  if (known.hasTerminal || shim.startTime === '' || !isYounger(known, shim)) return false;
  return known.parent <= 1 || stat(known.parent)?.command === 'systemd';
}

function worksIn(pid: number, folder: string): boolean {
  const cwd = link(`/proc/${pid}/cwd`);
  return cwd !== null && (cwd === folder || cwd.startsWith(`${folder}/`));
}

interface Stat {
  readonly command: string;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly hasTerminal: boolean;
  readonly startTime: string;
  /** In the middle of an `exec`: there is memory, and no environment in it yet. */
  readonly isBecoming: boolean;
}

/** The command may contain blanks and brackets, so the fields are counted from its last bracket on. */
function stat(pid: number): Stat | null {
  // To ask is far cheaper than to catch what opening it throws, and most that are asked for are gone.
  if (!existsSync(`/proc/${pid}`)) return null;
  const text = read(`/proc/${pid}/stat`);
  if (text === null) return null;
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ', 48);
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
    isBecoming: fields[20] !== '0' && fields[47] === '0',
  };
}

function isAlive(found: Stat | null): found is Stat {
  return found !== null && found.state !== 'Z' && found.state !== 'X';
}

function environment(pid: number): string | null {
  return read(`/proc/${pid}/environ`);
}

/** Empty is what it is in the middle of an `exec`, too: then it is asked once more. */
function settledEnvironment(pid: number): string | null | typeof BECOMING {
  const variables = environment(pid);
  if (variables !== '') return variables;
  return stat(pid)?.isBecoming === true ? BECOMING : environment(pid);
}

const BECOMING = Symbol('becoming another program');

function carries(variables: string | null, start: string): boolean {
  return variables !== null && `\0${variables}`.includes(`\0${start}`);
}

function pids(): readonly number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/**
 * The processes that may be younger than this one: their pids lie between its own and the last one given, unless the
 * counter may have gone round. The counter is asked after the list was made, or who came in between would be missed;
 * where few were given since, only those are asked for, which takes the same time however many others there are.
 */
function younger(than: Birth): readonly number[] {
  const uptime = Number(read('/proc/uptime')?.split(' ')[0] ?? Number.POSITIVE_INFINITY);
  const age = uptime - Number(than.startTime) / TICKS_A_SECOND;
  const isRecent = age < ROUND_TRIP_SECONDS;
  const last = lastPid();
  if (isRecent && last >= than.pid && last - than.pid < FEW) {
    const near: number[] = [];
    for (let pid = than.pid; pid <= last; pid++) if (isProcess(pid)) near.push(pid);
    if (lastPid() === last) return near;
  }
  const all = pids();
  const latest = lastPid();
  return isRecent && latest >= than.pid ? all.filter((pid) => pid >= than.pid && pid <= latest) : all;
}

/** Threads have numbers too, and a folder that no listing shows. */
function isProcess(pid: number): boolean {
  if (!existsSync(`/proc/${pid}`)) return false;
  return new RegExp(`^Tgid:\\s+${pid}$`, 'm').test(read(`/proc/${pid}/status`) ?? '');
}

/** The pid that was given last. */
function lastPid(): number {
  return Number(read('/proc/loadavg')?.trim().split(' ').at(-1) ?? 0);
}

const FEW = 64;

const TICKS_A_SECOND = 100;

/** Nobody starts so many processes in this time that the counter comes round. */
const ROUND_TRIP_SECONDS = 10;

let knownBootId: string | null = null;
function bootId(): string {
  knownBootId ??= read('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return knownBootId;
}

let knownNamespace: string | null = null;
function pidNamespace(): string {
  knownNamespace ??= link('/proc/self/ns/pid') ?? '';
  return knownNamespace;
}

/** One for all: what is in `/proc` is small, and there are many. */
const buffer = Buffer.allocUnsafeSlow(64 * 1024);

function read(path: string): string | null {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(path, 'r');
    let text = '';
    for (;;) {
      const count = readSync(descriptor, buffer, 0, buffer.length, -1);
      if (count === 0) return text;
      text += buffer.toString('latin1', 0, count);
    }
  } catch {
    return null;
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

function link(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
