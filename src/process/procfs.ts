import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Birth, ProcessTable } from './table.ts';

/** Reads `/proc`. Everything here may be gone the moment after it was read; that is not an error. */
export const procfs: ProcessTable = {
  members: (group) => pids().filter((pid) => isAlive(stat(pid), (found) => found.group === group)),

  marked(marker, since) {
    const found: number[] = [];
    let vanished = 0;
    for (const pid of since === null || hasWrapped(since)
      ? pids()
      : pids().filter((candidate) => candidate >= since.pid)) {
      const environment = read(`/proc/${pid}/environ`);
      if (environment === null) vanished += stat(pid) === null ? 1 : 0;
      else if (`\0${environment}`.includes(`\0${marker}\0`) && isAlive(stat(pid))) found.push(pid);
    }
    return { pids: found, vanished };
  },

  birth(pid) {
    const found = stat(pid);
    if (found === null || !isAlive(found)) return null;
    return { pid, startTime: found.startTime, bootId: bootId(), pidNamespace: pidNamespace() };
  },

  workingIn(folder, since) {
    return pids().flatMap((pid) => {
      const found = stat(pid);
      if (found === null || !isAlive(found) || Number(found.startTime) < Number(since.startTime)) return [];
      const cwd = link(`/proc/${pid}/cwd`);
      const inside = cwd !== null && (cwd === folder || cwd.startsWith(`${folder}/`));
      return inside ? [{ pid, command: found.command }] : [];
    });
  },
};

interface Stat {
  readonly command: string;
  readonly state: string;
  readonly group: number;
  readonly startTime: string;
}

/** The command may contain blanks and brackets, so the fields are counted from its last bracket on. */
function stat(pid: number): Stat | null {
  const text = read(`/proc/${pid}/stat`);
  if (text === null) return null;
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  const [state, , group] = fields;
  const startTime = fields[19];
  if (state === undefined || group === undefined || startTime === undefined) return null;
  return { command: text.slice(text.indexOf('(') + 1, end), state, group: Number(group), startTime };
}

function isAlive(found: Stat | null, holds: (found: Stat) => boolean = () => true): boolean {
  return found !== null && found.state !== 'Z' && found.state !== 'X' && holds(found);
}

function pids(): readonly number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** Whether pids lower than this one may be younger: the counter has gone round, or may have. */
function hasWrapped(since: Birth): boolean {
  const last = Number(read('/proc/loadavg')?.trim().split(' ').at(-1) ?? 0);
  return last < since.pid;
}

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

function read(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
}

function link(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
