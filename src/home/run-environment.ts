import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LoopFolder } from './home.ts';
import { STATE, stateFolder } from './state-folder.ts';
import { idsOf, type Spec } from './spec.ts';
import { withoutGitLocation } from '../git/location.ts';
import type { Policy } from '../loop/policy.ts';
import type { Environment } from '../process/process.ts';

/** Set for every process of a run, so that orphans can be found. */
export const RUN_MARKER = 'RALPH_RUN_ID';
/** The umask of the loop's starter, in octal. The shim sets it if the owner has another one. */
export const UMASK = 'RALPH_UMASK';
/** `1` trusts the settings files of a workspace. It never reaches an agent, which must not trust what it wrote itself. */
export const TRUST = 'RALPH_TRUST';

/** A loop with the environment that it was started with. */
export interface StartedLoop {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  readonly env: Environment;
}

/**
 * The environment of an agent or a check: the one of the loop's starter, and the variables of the run. Document 000 names
 * some of them twice: its scripts use the older names without `JRUN_`.
 */
export function runEnvironment({
  spec,
  folder,
  env,
  run,
  policy,
}: StartedLoop & { readonly run: string; readonly policy: Policy }): Record<string, string> {
  return { ...env, ...runVariables({ spec, folder, run, policy }) };
}

/** The variables of a run, without its marker. */
export function runVariables({
  spec,
  folder: { workspaceFolder },
  run,
  policy,
}: Omit<StartedLoop, 'env'> & { readonly run: string; readonly policy: Policy }): RunVariables {
  const runFolder = workspaceFolder.run(run);
  const ids = idsOf(spec);
  const parent = spec.parent?.run ?? '';
  const marker = policy.completion.detectors.find((detector) => detector.kind === 'marker');
  return {
    RALPH_LOOP: spec.name,
    RALPH_LOOP_FOLDER: workspaceFolder.path,
    RALPH_RUN_FOLDER: runFolder,
    RALPH_ITERATION: run.split('.')[0] ?? '',
    RALPH_DONE_FILE: workspaceFolder.marker(marker?.file ?? 'DONE'),
    RALPH_PARENT_RUN_ID: parent,
    RALPH_MESSAGE_BUS: workspaceFolder.bus,
    JRUN_PROJECT_ID: ids.project,
    JRUN_TASK_ID: ids.task,
    JRUN_ID: runMarker(spec, run).value,
    JRUN_PARENT_ID: parent,
    JRUN_RUNS_DIR: workspaceFolder.runs,
    JRUN_MESSAGE_BUS: workspaceFolder.bus,
    JRUN_TASK_FOLDER: workspaceFolder.task,
    JRUN_RUN_FOLDER: runFolder,
    TASK_FOLDER: workspaceFolder.task,
    RUN_FOLDER: runFolder,
    RUNS_DIR: workspaceFolder.runs,
    MESSAGE_BUS: workspaceFolder.bus,
  };
}

const RUN_VARIABLES = [
  'RALPH_LOOP',
  'RALPH_LOOP_FOLDER',
  'RALPH_RUN_FOLDER',
  'RALPH_ITERATION',
  'RALPH_DONE_FILE',
  'RALPH_PARENT_RUN_ID',
  'RALPH_MESSAGE_BUS',
  'JRUN_PROJECT_ID',
  'JRUN_TASK_ID',
  'JRUN_ID',
  'JRUN_PARENT_ID',
  'JRUN_RUNS_DIR',
  'JRUN_MESSAGE_BUS',
  'JRUN_TASK_FOLDER',
  'JRUN_RUN_FOLDER',
  'TASK_FOLDER',
  'RUN_FOLDER',
  'RUNS_DIR',
  'MESSAGE_BUS',
] as const;
type RunVariables = Record<(typeof RUN_VARIABLES)[number], string>;

export function runMarker(spec: Spec, run: string): { name: string; value: string } {
  return { name: RUN_MARKER, value: `${spec.id}.${run}` };
}

export function checkMarker(spec: Spec, key: string): { name: string; value: string } {
  return { name: RUN_MARKER, value: `${spec.id}.${key}` };
}

export function setUpMarker(spec: Spec): { name: string; value: string } {
  return checkMarker(spec, 'setup');
}

/** The environment of a loop's starter, without the variables of the run that it may itself belong to. */
export function startersEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const ofRun: ReadonlySet<string> = new Set([RUN_MARKER, UMASK, TRUST, ...RUN_VARIABLES]);
  const kept = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value === undefined || ofRun.has(name) ? [] : [[name, value]],
  );
  const starters: Record<string, string> = Object.fromEntries(kept);
  // Agents, children and background owners have other working directories.
  if ((starters[STATE] ?? '') !== '') starters[STATE] = stateFolder(env);
  // Git sets GIT_DIR for its hooks. A user who sets it on purpose sets GIT_WORK_TREE too.
  const elsewhere = env['GIT_WORK_TREE'] === undefined ? withoutGitLocation(starters) : starters;
  return { ...elsewhere, PATH: searchPath(env['PATH'] ?? '') };
}

/** PATH with the folder of the `ralph` command, so that an agent finds it. */
function searchPath(path: string): string {
  const command = process.argv[1] ?? '';
  const name = basename(command);
  // Who types `rud` may have the `ralph` of another package on the PATH.
  const folder = name === 'ralph' ? dirname(command) : name === 'rud' ? OWN_COMMANDS : null;
  return folder === null || path.split(':').includes(folder) ? path : `${folder}:${path}`;
}

/** A folder of this installation with nothing but `ralph`. */
const OWN_COMMANDS = fileURLToPath(new URL('../cli/bin', import.meta.url));

/** The id of the loop that a run belongs to, from the run's marker; null if it is no marker. */
export function loopIdOf(run: string): string | null {
  return MARKED_RUN.exec(run)?.[1] ?? null;
}

/** The id of a loop, then a run or a step. */
const MARKED_RUN = /^([A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{8})\./;
