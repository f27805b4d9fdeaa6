/**
 * The runs that this process works for: the one in its own environment and those of its ancestors. Agents start other
 * agents, so there may be several.
 *
 * 1. An emptied environment hides nothing: the shim above an agent has the marker and names the folder of its run.
 * 2. A forged environment gains nothing: a loop has to descend from the loop of every run that is found.
 * 3. A run of another state folder does not count. Its loops cannot be reached from here, and a check of a loop may be a
 *    test suite that itself uses Ralph.
 *
 * A process that leaves its shim (a double fork) and also empties its environment is not found.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { realPath } from '../files/files.ts';
import { processes } from '../process/process.ts';
import { loopIdOf, RUN_MARKER } from './run-environment.ts';
import { readSpec, type ParentRun, type Spec } from './spec.ts';
import { stateFolder } from './state-folder.ts';
import { archiveFolder, loopsFolder } from './home.ts';

/** A run that this process works for. Null where that cannot be read. */
export interface EnclosingRun {
  readonly run: string | null;
  /** The id of its loop. */
  readonly loop: string | null;
  /** Whether the shim of the run was found above this process. */
  readonly hasShim: boolean;
}

/** All runs that this process works for, the innermost first. */
export function enclosingRuns(env: NodeJS.ProcessEnv = process.env): readonly EnclosingRun[] {
  const sightings = [
    { run: env[RUN_MARKER] ?? null, shim: null },
    ...processes
      .ancestors(process.pid)
      .map((ancestor) => ({ run: ancestor.variable(RUN_MARKER), shim: ancestor.shim })),
  ];
  const found = new Map<string, EnclosingRun>();
  for (const { run, shim } of sightings) {
    if (run === null && shim === null) continue;
    const place = shim === null ? null : placeOf(shim, run);
    const loop = (run === null ? null : loopIdOf(run)) ?? place?.loop ?? null;
    if (isElsewhere(place?.state ?? null, loop)) continue;
    const key = `${run} ${loop}`;
    found.set(key, { run, loop, hasShim: shim !== null || found.get(key)?.hasShim === true });
  }
  return [...found.values()];
}

/**
 * The run that a loop which is started here is a child of, and the state of its loop; null if a person starts it. A run that only
 * an environment names counts if its loop descends from the one of the nearest shim: an agent cannot choose another parent.
 */
export function parentRun(env: NodeJS.ProcessEnv = process.env): ParentRun | null {
  const runs = enclosingRuns(env);
  const sure = runs.find(({ hasShim }) => hasShim);
  const found = runs.find((one) => one === sure || sure === undefined || isBelow(one, sure));
  if (found === undefined || found.run === null || found.loop === null) return null;
  return { run: found.run, folder: join(loopsFolder(), found.loop) };
}

function isBelow(run: EnclosingRun, upper: EnclosingRun): boolean {
  const spec = loopOf(run);
  return run.loop === upper.loop || (spec !== null && descendsFrom(spec, upper));
}

/** The loop of a run, which may have been replaced by another one of its name; null if it cannot be read. */
export function loopOf({ loop }: Pick<EnclosingRun, 'loop'>): Spec | null {
  if (loop === null) return null;
  for (const folder of [loopsFolder(), archiveFolder()]) {
    try {
      const spec = readSpec(join(folder, loop, 'spec.json'));
      if (spec.id === loop) return spec;
    } catch {
      // Not there, or damaged.
    }
  }
  return null;
}

/** The id of the loop that a loop is a child of; null if it has no parent. */
export function parentOf({ parent }: Spec): string | null {
  return parent === null ? null : loopIdOf(parent.run);
}

/** Whether a loop was started from inside a run of that loop, or from inside a run of such a loop. */
export function descendsFrom(spec: Spec, { loop }: Pick<EnclosingRun, 'loop'>): boolean {
  let above: Spec | null = spec;
  for (let generation = 0; above !== null && generation < MAX_GENERATIONS; generation++) {
    const parent: string | null = parentOf(above);
    if (parent === null) return false;
    if (parent === loop) return true;
    above = loopOf({ loop: parent });
  }
  return false;
}

/** Ends the walk also if two specs name each other. */
const MAX_GENERATIONS = 100;

/** The state folder and the loop in the folder of a shim: `<state folder>/loops/<id>/runs/0001`. */
function placeOf(shim: string, run: string | null): { readonly state: string; readonly loop: string } | null {
  const id = run === null ? null : loopIdOf(run);
  const at = id === null ? -1 : shim.indexOf(`/loops/${id}/`);
  if (id !== null && at >= 0) return { state: shim.slice(0, at), loop: id };
  const [, state, loop] = /^(.*?)\/loops\/([\w.-]+-[0-9a-f]{8})\//s.exec(shim) ?? [];
  return state === undefined || loop === undefined ? null : { state, loop };
}

/** Whether a run belongs to another state folder. Without its shim, only its loop can tell. */
function isElsewhere(state: string | null, loop: string | null): boolean {
  if (state !== null) return realPath(state) !== realPath(stateFolder());
  return loop !== null && !existsSync(join(loopsFolder(), loop));
}
