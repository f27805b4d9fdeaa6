import {
  bootId,
  isAlive,
  listPids,
  pidNamespace,
  readArguments,
  readEnvironment,
  readStat,
} from './proc-files.ts';
import {
  EXECUTING,
  snapshotOfAll,
  settledEnvironment,
  type ProcSnapshot,
  type Seen,
} from './proc-snapshot.ts';
import { sweepAll, sweepFew } from './proc-sweep.ts';
import {
  MAX_ANCESTORS,
  SHIM_NAME,
  type Ancestor,
  type Birth,
  type Marker,
  type ProcessTable,
  type Sweep,
  type SweptRun,
} from './process-table.ts';
import { SharedScan } from './shared-scan.ts';

/** The process table from `/proc`. */
class Procfs implements ProcessTable {
  /** The names of all markers that were asked for. */
  readonly #names = new Set<string>();
  #own: Birth | null = null;
  /** What the last snapshot has read. */
  #known: ReadonlyMap<number, Seen> = new Map();
  readonly #scan = new SharedScan(() => this.#snapshot());

  birth(pid: number): Birth | null {
    if (pid === process.pid) return (this.#own ??= this.#birthOf(pid));
    return this.#birthOf(pid);
  }

  #birthOf(pid: number): Birth | null {
    const stat = readStat(pid);
    return stat === null
      ? null
      : { pid, startTime: stat.startTime, bootId: bootId(), pidNamespace: pidNamespace() };
  }

  lives(birth: Birth): boolean {
    const stat = readStat(birth.pid);
    return (
      stat !== null &&
      isAlive(stat) &&
      stat.startTime === birth.startTime &&
      bootId() === birth.bootId &&
      pidNamespace() === birth.pidNamespace
    );
  }

  alive(pids: readonly number[]): readonly number[] {
    return pids.filter((pid) => isAlive(readStat(pid)));
  }

  carries(pid: number, { name, value }: Marker): boolean | null {
    const variables = settledEnvironment(pid);
    if (variables === null || variables === EXECUTING) return null;
    return hasVariable(variables, name, value);
  }

  firstMarked({ name, value }: Marker): number | null {
    const isMarked = (pid: number): boolean =>
      hasVariable(readEnvironment(pid) ?? '', name, value) && isAlive(readStat(pid));
    return listPids().find(isMarked) ?? null;
  }

  marked(marker: Marker): Promise<readonly number[]> {
    this.#names.add(marker.name);
    return this.#scan.ask((all) => all.marked(marker).map(({ pid }) => pid));
  }

  markedByPrefix(marker: Marker): Promise<readonly number[]> {
    this.#names.add(marker.name);
    return this.#scan.ask((all) => all.markedByPrefix(marker).map(({ pid }) => pid));
  }

  async left(run: SweptRun): Promise<Sweep> {
    this.#names.add(run.marker.name);
    return sweepFew(run) ?? this.#scan.ask((all) => sweepAll(run, all));
  }

  ancestors(pid: number): readonly Ancestor[] {
    const found: Ancestor[] = [];
    for (let at = readStat(pid)?.parent ?? 0; at > 0 && found.length < MAX_ANCESTORS;) {
      found.push(ancestor(at));
      at = readStat(at)?.parent ?? 0;
    }
    return found;
  }

  async #snapshot(): Promise<ProcSnapshot> {
    const found = await snapshotOfAll(this.#known, this.#names);
    this.#known = found.all;
    return found;
  }
}

export const procfs: ProcessTable = new Procfs();

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

function hasVariable(variables: string, name: string, value: string): boolean {
  return `\0${variables}`.includes(`\0${name}=${value}\0`);
}
