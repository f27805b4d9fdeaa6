/**
 * A snapshot of all processes under `/proc`.
 *
 * 1. Membership in a run is inherited, so the moment at which a process is read does not matter. What matters is that every
 *    process of the last listing was read: one that exits between the listing and its reading may have left a child that is
 *    not in the listing. After such an exit only the processes that are new since are listed and read; after a few rounds
 *    the exits that remain are reported (`lost`).
 * 2. The environment of a process is read again only after an `exec`; its start time tells it from another one with its pid.
 */
import {
  isAlive,
  lastPid,
  listPids,
  namespaceOf,
  readEnvironment,
  readStat,
  workingDirectory,
  type Stat,
} from './proc-files.ts';
import type { Marker } from './process-table.ts';
import { TimeSlice } from './turns.ts';

/** What could be read of a process. */
export interface Seen {
  readonly pid: number;
  readonly stat: Stat;
  /** Each marker in its environment as `NAME=value`; null if it is a zombie or belongs to another user. */
  readonly markers: readonly string[] | null | typeof EXECUTING;
  /** Null if it is a zombie or belongs to another user. */
  readonly namespace: string | null;
  /** How many names of markers were known when it was read. */
  readonly names: number;
}

/** It is in the middle of an `exec` and has no environment yet. */
export const EXECUTING: unique symbol = Symbol('executing');

/** All processes at one moment. */
export class ProcSnapshot {
  /** Processes that exited, or began an `exec`, while the snapshot was taken: each may have left a child that it missed. */
  readonly lost: readonly number[];
  /** The pid that was assigned last when the snapshot was complete. */
  readonly last: number;
  readonly all: ReadonlyMap<number, Seen>;
  readonly #byGroup = new Map<number, Seen[]>();
  readonly #byMarker = new Map<string, Seen[]>();
  readonly #byNamespace = new Map<string, Seen[]>();
  readonly #orphans = new Map<string, readonly Orphan[]>();

  constructor(all: ReadonlyMap<number, Seen>, lost: readonly number[], last: number) {
    this.all = all;
    this.lost = lost;
    this.last = last;
    for (const seen of all.values()) {
      if (!isAlive(seen.stat)) continue;
      add(this.#byGroup, seen.stat.group, seen);
      if (seen.namespace !== null) add(this.#byNamespace, seen.namespace, seen);
      if (seen.markers === null || seen.markers === EXECUTING) continue;
      for (const marker of seen.markers) add(this.#byMarker, marker, seen);
    }
  }

  /** Live processes with the marker. */
  marked({ name, value }: Marker): readonly Seen[] {
    return this.#byMarker.get(`${name}=${value}`) ?? [];
  }

  /** Live processes with a marker whose value starts with this one. */
  markedByPrefix({ name, value }: Marker): readonly Seen[] {
    const found = [...this.#byMarker].filter(([marker]) => marker.startsWith(`${name}=${value}`));
    return [...new Set(found.flatMap(([, seen]) => seen))];
  }

  /** Live processes of the group. */
  inGroup(group: number): readonly Seen[] {
    return this.#byGroup.get(group) ?? [];
  }

  /** Live processes in the PID namespace. */
  inNamespace(namespace: string): readonly Seen[] {
    return this.#byNamespace.get(namespace) ?? [];
  }

  /** Live processes without a parent, a terminal and a marker of this name. */
  orphans(name: string): readonly Orphan[] {
    const found = this.#orphans.get(name) ?? this.#findOrphans(name);
    this.#orphans.set(name, found);
    return found;
  }

  #findOrphans(name: string): readonly Orphan[] {
    return [...this.all.values()].flatMap((seen) => {
      const parent = (): Stat | null => this.all.get(seen.stat.parent)?.stat ?? null;
      if (!isOrphan(seen, name, parent)) return [];
      return [{ pid: seen.pid, stat: seen.stat, cwd: workingDirectory(seen.pid) }];
    });
  }
}

/** A process that may have escaped a run. */
export interface Orphan {
  readonly pid: number;
  readonly stat: Stat;
  readonly cwd: string | null;
}

/** Whether a live process has no marker of this name, no terminal (a shim has none) and no parent. */
export function isOrphan({ stat, markers }: Seen, name: string, parent: () => Stat | null): boolean {
  if (!isAlive(stat) || stat.hasTerminal || markers === null || markers === EXECUTING) return false;
  if (markers.some((marker) => marker.startsWith(`${name}=`))) return false;
  return stat.parent <= 1 || parent()?.command === 'systemd';
}

function add<K>(index: Map<K, Seen[]>, key: K, seen: Seen): void {
  const found = index.get(key);
  if (found === undefined) index.set(key, [seen]);
  else found.push(seen);
}

/** Takes a snapshot of all processes; `before` is what the last one has read. */
export async function snapshotOfAll(
  before: ReadonlyMap<number, Seen>,
  names: ReadonlySet<string>,
  slice: Pick<TimeSlice, 'pause'> = new TimeSlice(),
): Promise<ProcSnapshot> {
  const read = new Map<number, Seen>();
  for (let round = 1; ; round++) {
    const listed = listPids();
    const lost: number[] = [];
    for (const pid of listed) {
      const earlier = read.get(pid);
      if (earlier !== undefined && earlier.markers !== EXECUTING) continue;
      const known = before.get(pid);
      const seen = readProcess(pid, names, known);
      if (seen === null || seen.markers === EXECUTING || hasJustDied(seen, known)) lost.push(pid);
      if (seen !== null) read.set(pid, seen);
      // oxlint-disable-next-line no-await-in-loop -- yields to the event loop
      await slice.pause();
    }
    if (lost.length > 0 && round < MAX_ROUNDS) continue;
    const all = new Map(listed.flatMap((pid) => entryOf(read, pid)));
    return new ProcSnapshot(all, lost, lastPid());
  }
}

const MAX_ROUNDS = 4;

/** A zombie that was not one before may have left a child after the listing. */
function hasJustDied({ stat }: Seen, known: Seen | undefined): boolean {
  if (isAlive(stat)) return false;
  return known === undefined || known.stat.startTime !== stat.startTime || isAlive(known.stat);
}

function entryOf(read: ReadonlyMap<number, Seen>, pid: number): readonly (readonly [number, Seen])[] {
  const seen = read.get(pid);
  return seen === undefined ? [] : [[pid, seen]];
}

/** Reads a process with its markers of these names; null if it is gone. `known` is what was read of this pid before. */
export function readProcess(pid: number, names: ReadonlySet<string>, known?: Seen): Seen | null {
  const stat = readStat(pid);
  if (stat === null) return null;
  if (!isAlive(stat)) return { pid, stat, markers: null, namespace: null, names: names.size };
  if (known !== undefined && isUnchanged(known, stat, names)) return { ...known, stat };
  const variables = settledEnvironment(pid);
  // If it still exists, it belongs to another user.
  if (variables === null && readStat(pid) === null) return null;
  const markers = typeof variables === 'string' ? markersIn(variables, names) : variables;
  return { pid, stat, markers, namespace: namespaceOf(pid), names: names.size };
}

function isUnchanged({ stat, markers, names: asked }: Seen, now: Stat, names: ReadonlySet<string>): boolean {
  return (
    isAlive(stat) &&
    stat.startTime === now.startTime &&
    stat.environment === now.environment &&
    markers !== EXECUTING &&
    asked === names.size
  );
}

/** An environment is also empty in the middle of an `exec`; an empty one is therefore read a second time. */
export function settledEnvironment(pid: number): string | null | typeof EXECUTING {
  const variables = readEnvironment(pid);
  if (variables !== '') return variables;
  return readStat(pid)?.isExecuting === true ? EXECUTING : readEnvironment(pid);
}

function markersIn(variables: string, names: ReadonlySet<string>): readonly string[] {
  const found: string[] = [];
  const text = `\0${variables}`;
  for (const name of names) {
    for (let at = text.indexOf(`\0${name}=`); at >= 0; at = text.indexOf(`\0${name}=`, at + 1)) {
      const end = text.indexOf('\0', at + 1);
      found.push(text.slice(at + 1, end < 0 ? undefined : end));
    }
  }
  return found;
}
