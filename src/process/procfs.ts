import { existsSync } from 'node:fs';
import {
  ageInSeconds,
  bootId,
  isAlive,
  isProcess,
  lastPid,
  listPids,
  namespaceOf,
  pidNamespace,
  readArguments,
  readEnvironment,
  readStat,
  readText,
  workingDirectory,
  type Stat,
} from './proc-files.ts';
import {
  MAX_ANCESTORS,
  SHIM_NAME,
  type Ancestor,
  type Birth,
  type ProcessTable,
  type Stray,
  type SweptRun,
} from './process-table.ts';

/** The process table from `/proc`. */
export const procfs: ProcessTable = {
  birth(pid) {
    const stat = readStat(pid);
    return stat === null
      ? null
      : { pid, startTime: stat.startTime, bootId: bootId(), pidNamespace: pidNamespace() };
  },

  lives(birth) {
    const stat = readStat(birth.pid);
    return (
      stat !== null &&
      isAlive(stat) &&
      stat.startTime === birth.startTime &&
      bootId() === birth.bootId &&
      pidNamespace() === birth.pidNamespace
    );
  },

  carries(pid, { name, value }) {
    const variables = settledEnvironment(pid);
    if (variables === null || variables === EXECUTING) return null;
    return hasVariable(variables, `${name}=${value}\0`);
  },

  marked: ({ name, value }) => withVariable(`${name}=${value}\0`),

  markedByPrefix: ({ name, value }) => withVariable(`${name}=${value}`),

  left(run) {
    const pids: number[] = [];
    const strays: Stray[] = [];
    const ownsGroup = ownsItsGroup(run.shim);
    const namespace = run.namespaceFile === undefined ? null : liveNamespace(run.namespaceFile);
    let vanished = 0;
    for (const pid of mayBeYounger(run.shim)) {
      if (pid === run.shim.pid) continue;
      const found = classify(pid, run, ownsGroup, namespace);
      if (found === 'member') pids.push(pid);
      else if (found === 'vanished') vanished++;
      else if (found !== 'unrelated') strays.push(found);
    }
    return { pids, vanished, strays };
  },

  ancestors(pid) {
    const found: Ancestor[] = [];
    for (let at = readStat(pid)?.parent ?? 0; at > 0 && found.length < MAX_ANCESTORS;) {
      found.push(ancestor(at));
      at = readStat(at)?.parent ?? 0;
    }
    return found;
  },
};

function ancestor(pid: number): Ancestor {
  // Of a shim: /bin/sh, -c, the script, its name, the folder.
  const [, , , name, ...more] = utf8(readArguments(pid) ?? '').split('\0');
  return {
    pid,
    shim: name === SHIM_NAME ? more.join(' ') : null,
    variable(variable) {
      const variables = `\0${readEnvironment(pid) ?? ''}`;
      const at = variables.indexOf(`\0${variable}=`);
      if (at < 0) return null;
      const [value = ''] = variables.slice(at + variable.length + 2).split('\0', 1);
      return utf8(value);
    },
  };
}

/** The files under `/proc` are read as Latin-1. */
function utf8(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8');
}

function classify(
  pid: number,
  { shim, marker, folder }: SweptRun,
  ownsGroup: boolean,
  namespace: string | null,
): 'member' | 'vanished' | 'unrelated' | Stray {
  const stat = readStat(pid);
  if (stat === null) return 'vanished';
  if (!isAlive(stat)) return 'unrelated';
  if (ownsGroup && stat.group === shim.pid && isYounger(stat, shim)) return 'member';
  if (namespace !== null && namespaceOf(pid) === namespace) return 'member';
  const variables = settledEnvironment(pid);
  // It may have left a child; if it still exists, it belongs to another user.
  if (variables === null) return readStat(pid) === null ? 'vanished' : 'unrelated';
  // It has no environment yet, so the next sweep has to check it.
  if (variables === EXECUTING) return 'vanished';
  if (hasVariable(variables, `${marker.name}=${marker.value}\0`)) return 'member';
  const isStray =
    mayBeStray(stat, shim) && !hasVariable(variables, `${marker.name}=`) && worksIn(pid, folder);
  return isStray ? { pid, command: stat.command } : 'unrelated';
}

/**
 * The PID namespace that bubblewrap has written down, as long as its first process is alive: the kernel reuses the number
 * of a namespace at once.
 */
function liveNamespace(file: string): string | null {
  if (!existsSync(file)) return null;
  const text = readText(file) ?? '';
  const first = Number(/"child-pid": (\d+)/.exec(text)?.[1] ?? 0);
  if (first === 0 || !isAlive(readStat(first))) return null;
  const found = namespaceOf(first);
  const written = /"pid-namespace": (\d+)/.exec(text)?.[1];
  return found === pidNamespace() || (written !== undefined && found !== `pid:[${written}]`) ? null : found;
}

function withVariable(start: string): readonly number[] {
  return listPids().filter((pid) => hasVariable(readEnvironment(pid), start) && isAlive(readStat(pid)));
}

/** Whether the process group is still the shim's. After a reboot, or if the pid was reused, it is another program's. */
function ownsItsGroup(shim: Birth): boolean {
  const leader = readStat(shim.pid);
  return (
    shim.pid > 0 &&
    shim.bootId === bootId() &&
    shim.pidNamespace === pidNamespace() &&
    (leader === null || leader.startTime === shim.startTime)
  );
}

function isYounger(stat: Stat, shim: Birth): boolean {
  return Number(stat.startTime) >= Number(shim.startTime);
}

/** An escaped process has lost its parent and has no terminal, since the shim has none. */
function mayBeStray(stat: Stat, shim: Birth): boolean {
  if (stat.hasTerminal || shim.startTime === '' || !isYounger(stat, shim)) return false;
  return stat.parent <= 1 || readStat(stat.parent)?.command === 'systemd';
}

function worksIn(pid: number, folder: string): boolean {
  const cwd = workingDirectory(pid);
  return cwd !== null && (cwd === folder || cwd.startsWith(`${folder}/`));
}

/** An environment is also empty in the middle of an `exec`; an empty one is therefore read a second time. */
function settledEnvironment(pid: number): string | null | typeof EXECUTING {
  const variables = readEnvironment(pid);
  if (variables !== '') return variables;
  return readStat(pid)?.isExecuting === true ? EXECUTING : readEnvironment(pid);
}

const EXECUTING = Symbol('executing');

function hasVariable(variables: string | null, start: string): boolean {
  return variables !== null && `\0${variables}`.includes(`\0${start}`);
}

/**
 * Pids of processes that may have started after this one: those between its pid and the last assigned one, unless the pid
 * counter may have wrapped around. The last pid is read after the listing, so that no new process is missed. If only a few
 * pids were assigned since, only those are checked: the cost then does not depend on how many processes exist.
 */
function mayBeYounger({ pid: first, startTime }: Birth): readonly number[] {
  const isRecent = ageInSeconds(startTime) < WRAPAROUND_SECONDS;
  const last = lastPid();
  if (isRecent && last >= first && last - first < FEW_PIDS) {
    const recent: number[] = [];
    for (let pid = first; pid <= last; pid++) if (isProcess(pid)) recent.push(pid);
    if (lastPid() === last) return recent;
  }
  const all = listPids();
  const latest = lastPid();
  return isRecent && latest >= first ? all.filter((pid) => pid >= first && pid <= latest) : all;
}

const FEW_PIDS = 64;

/** No machine starts so many processes within this time that the pid counter wraps around. */
const WRAPAROUND_SECONDS = 10;
