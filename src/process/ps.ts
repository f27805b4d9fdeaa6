import { MAX_ANCESTORS, SHIM_NAME, type Ancestor, type Marker, type ProcessTable } from './process-table.ts';

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

  marked: (marker) => rows().flatMap((row) => (isAlive(row) && hasMarker(row, marker) ? [row.pid] : [])),

  markedByPrefix: ({ name, value }) =>
    rows().flatMap((row) => (isAlive(row) && ` ${row.text}`.includes(` ${name}=${value}`) ? [row.pid] : [])),

  left({ shim, marker }) {
    const all = rows();
    const leader = all.find(({ pid }) => pid === shim.pid);
    const ownsGroup = shim.startTime !== '' && (leader === undefined || leader.startTime === shim.startTime);
    const pids = all.flatMap((row) =>
      row.pid !== shim.pid &&
      isAlive(row) &&
      ((ownsGroup && row.group === shim.pid) || hasMarker(row, marker))
        ? [row.pid]
        : [],
    );
    return { pids, vanished: 0, strays: [] };
  },

  ancestors(pid) {
    const found: Ancestor[] = [];
    for (let at = look(pid)?.parent ?? 0; at > 0 && found.length < MAX_ANCESTORS;) {
      const process = look(at);
      if (process === null) break;
      found.push(ancestor(at, process.text));
      at = process.parent;
    }
    return found;
  },
};

/** Asks for one process at a time: in a list, the arguments of one process could pass for the row of another. */
function look(pid: number): { readonly parent: number; readonly text: string } | null {
  const match = /^\s*(\d+)\s+(.*)$/s.exec(output(['-p', String(pid), '-o', 'ppid=,command=']));
  return match === null ? null : { parent: Number(match[1]), text: (match[2] ?? '').trimEnd() };
}

/** Arguments and environment cannot be told apart here, so an argument `NAME=value` counts as a variable. */
function ancestor(pid: number, text: string): Ancestor {
  return {
    pid,
    shim: text.includes(' -c ') ? (text.split(` ${SHIM_NAME} `, 2)[1] ?? null) : null,
    variable(name) {
      const at = ` ${text}`.lastIndexOf(` ${name}=`);
      if (at < 0) return null;
      const [value = ''] = text.slice(at + name.length + 1).split(/ (?=\w+=)/, 1);
      return value;
    },
  };
}

interface Row {
  readonly pid: number;
  readonly group: number;
  readonly state: string;
  readonly startTime: string;
  /** Arguments and environment. */
  readonly text: string;
}

const ROW = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]+\s+\d{4})\s+(.*)$/;

function rows(): readonly Row[] {
  const all = process.platform === 'darwin' ? '-ax' : 'ax';
  const lines = output([all, '-o', 'pid=,pgid=,stat=,lstart=,command=']).split('\n');
  return lines.flatMap((line) => {
    const match = ROW.exec(line);
    if (match === null) return [];
    const [, pid, group, state = '', startTime = '', text = ''] = match;
    return [{ pid: Number(pid), group: Number(group), state, startTime, text }];
  });
}

/** The output of `ps` for these processes, with their environments. */
function output(args: readonly string[]): string {
  const withEnvironment = process.platform === 'darwin' ? '-Eww' : 'eww';
  // Loaded on demand: it is slow to load, and systems with /proc never need it.
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { stdout } = spawnSync('ps', [withEnvironment, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, LC_ALL: 'C' },
  });
  return stdout ?? '';
}

function isAlive({ state }: Row): boolean {
  return !state.startsWith('Z') && !state.startsWith('X');
}

function hasMarker({ text }: Row, { name, value }: Marker): boolean {
  return ` ${text} `.includes(` ${name}=${value} `);
}
