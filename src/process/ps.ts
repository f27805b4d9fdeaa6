import { spawnSync } from 'node:child_process';
import {
  MAX_ANCESTORS,
  SHIM_NAME,
  type Ancestor,
  type Marker,
  type ProcessTable,
  type Sweep,
  type SweptRun,
} from './process-table.ts';
import { SharedScan } from './shared-scan.ts';

/**
 * The process table from `ps`, for systems without `/proc`. It is slower and sees less: start times in seconds, no working
 * directories, and environments only of processes of the same user.
 */
export const ps: ProcessTable = {
  birth(pid) {
    const row = rows().find((candidate) => candidate.pid === pid);
    return row === undefined ? null : { pid, startTime: row.startTime, bootId: '', pidNamespace: '' };
  },

  lives: (birth) =>
    rows().some((row) => row.pid === birth.pid && row.startTime === birth.startTime && isAlive(row)),

  carries(pid, marker) {
    const row = rows().find((candidate) => candidate.pid === pid);
    if (row === undefined) return null;
    // Some systems hide the environments of their own programs, such as /bin/sh.
    return hasMarker(row, marker) || (row.text.includes(' PATH=') ? false : null);
  },

  alive: (pids) => rows().flatMap((row) => (pids.includes(row.pid) && isAlive(row) ? [row.pid] : [])),

  firstMarked: (marker) => markedIn(rows(), marker)[0] ?? null,

  marked: (marker) => shared.ask((all) => markedIn(all, marker)),

  markedByPrefix: ({ name, value }) =>
    shared.ask((all) =>
      all.flatMap((row) => (isAlive(row) && ` ${row.text}`.includes(` ${name}=${value}`) ? [row.pid] : [])),
    ),

  left: (run) => shared.ask((all) => sweep(run, all)),

  ancestors(pid) {
    const found: Ancestor[] = [];
    for (let at = processAt(pid)?.parent ?? 0; at > 0 && found.length < MAX_ANCESTORS;) {
      const process = processAt(at);
      if (process === null) break;
      found.push(ancestor(at, process.text));
      at = process.parent;
    }
    return found;
  },
};

function sweep({ shim, marker, spared = [] }: SweptRun, all: readonly Row[]): Sweep {
  const byPid = new Map(all.map((row) => [row.pid, row]));
  const leader = byPid.get(shim.pid);
  const ownsGroup = shim.startTime !== '' && (leader === undefined || leader.startTime === shim.startTime);
  /** Whether it is in a spared group, or below a process of one. */
  const isSpared = (row: Row | undefined, depth = 0): boolean => {
    if (row === undefined || spared.length === 0 || depth === MAX_ANCESTORS) return false;
    if (spared.includes(row.group)) return true;
    return row.parent > 1 && row.parent !== shim.pid && isSpared(byPid.get(row.parent), depth + 1);
  };
  const isMember = (row: Row): boolean =>
    (ownsGroup && row.group === shim.pid) || (hasMarker(row, marker) && !isSpared(row));
  const pids = all.flatMap((row) => (row.pid !== shim.pid && isAlive(row) && isMember(row) ? [row.pid] : []));
  return { pids, vanished: 0, strays: [] };
}

function markedIn(all: readonly Row[], marker: Marker): readonly number[] {
  return all.flatMap((row) => (isAlive(row) && hasMarker(row, marker) ? [row.pid] : []));
}

/** Asks for one process at a time: in a list, the arguments of one process could pass for the row of another. */
function processAt(pid: number): { readonly parent: number; readonly text: string } | null {
  const match = /^\s*(\d+)\s+(.*)$/s.exec(output(['-p', String(pid), '-o', 'ppid=,command=']));
  return match === null ? null : { parent: Number(match[1]), text: (match[2] ?? '').trimEnd() };
}

/** Arguments and environment cannot be told apart here, so an argument `NAME=value` counts as a variable. */
function ancestor(pid: number, text: string): Ancestor {
  return {
    pid,
    shim: shimIn(text),
    variable(name) {
      const at = ` ${text}`.lastIndexOf(` ${name}=`);
      if (at < 0) return null;
      const [value = ''] = text.slice(at + name.length + 1).split(/ (?=\w+=)/, 1);
      return value;
    },
  };
}

function shimIn(text: string): string | null {
  return text.includes(' -c ') ? (text.split(` ${SHIM_NAME} `, 2)[1] ?? null) : null;
}

interface Row {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly state: string;
  readonly startTime: string;
  /** Arguments and environment. */
  readonly text: string;
}

const ROW = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]+\s+\d{4})\s+(.*)$/;

const ALL = [process.platform === 'darwin' ? '-ax' : 'ax', '-o', 'pid=,ppid=,pgid=,stat=,lstart=,command='];

const shared = new SharedScan(async () => {
  const { exec } = await import('./exec.ts');
  const found = await exec(['ps', WITH_ENVIRONMENT, ...ALL], { cwd: '/', env: environment() });
  return parsed(found?.stdout.toString('utf8') ?? '');
});

function rows(): readonly Row[] {
  return parsed(output(ALL));
}

function parsed(text: string): readonly Row[] {
  return text.split('\n').flatMap((line) => {
    const match = ROW.exec(line);
    if (match === null) return [];
    const [, pid, parent, group, state = '', startTime = '', rest = ''] = match;
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), state, startTime, text: rest }];
  });
}

/** The output of `ps` for these processes, with their environments. */
function output(args: readonly string[]): string {
  const { stdout } = spawnSync('ps', [WITH_ENVIRONMENT, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: environment(),
  });
  return stdout ?? '';
}

const WITH_ENVIRONMENT = process.platform === 'darwin' ? '-Eww' : 'eww';

function environment(): Record<string, string> {
  const defined = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return { ...Object.fromEntries(defined), LC_ALL: 'C' };
}

function isAlive({ state }: Row): boolean {
  return !state.startsWith('Z') && !state.startsWith('X');
}

function hasMarker({ text }: Row, { name, value }: Marker): boolean {
  return ` ${text} `.includes(` ${name}=${value} `);
}
