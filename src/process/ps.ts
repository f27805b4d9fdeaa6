import type { Marker, ProcessTable } from './process-table.ts';

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
};

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
  const withEnvironment = process.platform === 'darwin' ? ['-axEww'] : ['axeww'];
  // Loaded on demand: it is slow to load, and systems with /proc never need it.
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { stdout } = spawnSync('ps', [...withEnvironment, '-o', 'pid=,pgid=,stat=,lstart=,command='], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, LC_ALL: 'C' },
  });
  return (stdout ?? '').split('\n').flatMap((line) => {
    const match = ROW.exec(line);
    if (match === null) return [];
    const [, pid, group, state = '', startTime = '', text = ''] = match;
    return [{ pid: Number(pid), group: Number(group), state, startTime, text }];
  });
}

function isAlive({ state }: Row): boolean {
  return !state.startsWith('Z') && !state.startsWith('X');
}

function hasMarker({ text }: Row, { name, value }: Marker): boolean {
  return ` ${text} `.includes(` ${name}=${value} `);
}
