/** Finds what is left of a run: among the few processes that started after it, or in a snapshot of all processes. */
import type { StrayProcess } from '../loop/receipt.ts';
import { existsSync } from 'node:fs';
import { isIn } from '../files/files.ts';
import {
  ageInSeconds,
  bootId,
  isAlive,
  isProcess,
  lastPid,
  namespaceOf,
  pidNamespace,
  readStat,
  readText,
  workingDirectory,
  type Stat,
} from './proc-files.ts';
import {
  EXECUTING,
  isOrphan,
  readProcess,
  type Orphan,
  type ProcSnapshot,
  type Seen,
} from './proc-snapshot.ts';
import { MAX_ANCESTORS, type Birth, type Sweep, type SweptRun } from './process-table.ts';

/**
 * Checks only the pids that were assigned since the shim's, if they are few; else null. The cost does not depend on how many
 * processes exist. The last pid is read again after the listing, so that no new process is missed.
 */
export function sweepFew(run: SweptRun): Sweep | null {
  const { shim, marker } = run;
  const last = lastPid();
  if (!isRecent(shim) || last < shim.pid || last - shim.pid >= FEW_PIDS) return null;
  const recent: number[] = [];
  for (let pid = shim.pid + 1; pid <= last; pid++) if (isProcess(pid)) recent.push(pid);
  if (lastPid() !== last) return null;
  if (recent.length === 0) return { pids: [], vanished: 0, strays: [] };
  const scope = scopeOf(run, readStat(shim.pid));
  const names = new Set([marker.name]);
  const pids: number[] = [];
  const orphans: Orphan[] = [];
  let vanished = 0;
  for (const pid of recent) {
    const seen = readProcess(pid, names);
    if (seen !== null && isMember(seen, scope, readStat)) pids.push(pid);
    else if (seen === null || seen.markers === EXECUTING) vanished++;
    else if (isOrphan(seen, marker.name, () => readStat(seen.stat.parent)))
      orphans.push({ pid, stat: seen.stat, cwd: workingDirectory(pid) });
  }
  return { pids, vanished, strays: straysAmong(orphans, run) };
}

const FEW_PIDS = 64;

/** Finds what is left of the run in a snapshot of all processes. */
export function sweepAll(run: SweptRun, snapshot: ProcSnapshot): Sweep {
  const { shim, marker } = run;
  const scope = scopeOf(run, snapshot.all.get(shim.pid)?.stat ?? null);
  const candidates = new Set([
    ...(scope.group === null ? [] : snapshot.inGroup(scope.group)),
    ...(scope.namespace === null ? [] : snapshot.inNamespace(scope.namespace)),
    ...snapshot.marked(marker),
  ]);
  const statOf = (pid: number): Stat | null => snapshot.all.get(pid)?.stat ?? null;
  const members = [...candidates].filter((seen) => seen.pid !== shim.pid && isMember(seen, scope, statOf));
  const pids = members.map(({ pid }) => pid);
  // No process of this run has a lower pid, unless the pid counter may have wrapped around.
  const first = isRecent(shim) && snapshot.last >= shim.pid ? shim.pid : 0;
  const vanished = snapshot.lost.filter((pid) => pid >= first && !pids.includes(pid)).length;
  return { pids, vanished, strays: straysAmong(snapshot.orphans(marker.name), run) };
}

/** What the processes of a run have in common. */
interface Scope {
  /** The shim's process group; null if it is another program's. */
  readonly group: number | null;
  /** When the shim started, in clock ticks. */
  readonly since: number;
  readonly namespace: string | null;
  readonly marker: string;
  readonly shim: number;
  readonly spared: readonly number[];
}

function scopeOf({ shim, marker, namespaceFile, spared = [] }: SweptRun, leader: Stat | null): Scope {
  return {
    group: ownsItsGroup(shim, leader) ? shim.pid : null,
    since: Number(shim.startTime),
    namespace: namespaceFile === undefined ? null : liveNamespace(namespaceFile),
    marker: `${marker.name}=${marker.value}`,
    shim: shim.pid,
    spared,
  };
}

function isMember(
  { stat, markers, namespace }: Seen,
  scope: Scope,
  statOf: (pid: number) => Stat | null,
): boolean {
  if (!isAlive(stat)) return false;
  if (stat.group === scope.group && Number(stat.startTime) >= scope.since) return true;
  if (namespace !== null && namespace === scope.namespace) return true;
  if (markers === null || markers === EXECUTING || !markers.includes(scope.marker)) return false;
  return !isSpared(stat, scope, statOf);
}

/** Whether it is in a spared group, or below a process of one. */
function isSpared(stat: Stat, { shim, spared }: Scope, statOf: (pid: number) => Stat | null): boolean {
  if (spared.length === 0) return false;
  let at: Stat | null = stat;
  for (let depth = 0; at !== null && depth < MAX_ANCESTORS; depth++) {
    if (spared.includes(at.group)) return true;
    if (at.parent <= 1 || at.parent === shim) return false;
    at = statOf(at.parent);
  }
  return false;
}

/** Whether the process group is still the shim's. After a reboot, or if the pid was reused, it is another program's. */
function ownsItsGroup(shim: Birth, leader: Stat | null): boolean {
  return (
    shim.pid > 0 &&
    shim.bootId === bootId() &&
    shim.pidNamespace === pidNamespace() &&
    (leader === null || leader.startTime === shim.startTime)
  );
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

/** The orphans that started after the shim and work in the folder of the run. */
function straysAmong(orphans: readonly Orphan[], { shim, folder }: SweptRun): readonly StrayProcess[] {
  if (shim.startTime === '') return [];
  return orphans
    .filter(
      ({ stat, cwd }) =>
        Number(stat.startTime) >= Number(shim.startTime) && cwd !== null && isIn(cwd, folder),
    )
    .map(({ pid, stat }) => ({ pid, command: stat.command }));
}

/** Whether the pid counter cannot have wrapped around since the process started. */
function isRecent({ startTime }: Birth): boolean {
  return ageInSeconds(startTime) < WRAPAROUND_SECONDS;
}

/** No machine starts so many processes within this time that the pid counter wraps around. */
const WRAPAROUND_SECONDS = 10;
