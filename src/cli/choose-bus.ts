/**
 * Which message bus a command means.
 *
 * 1. Inside a run, the environment names it. That needs no registry, so it works in a sandbox too.
 * 2. A path of the environment is used only if it has the name of a bus, and if no link leads to it.
 * 3. Outside, it is the bus of the named loop, or of the only loop of the workspace. In a folder without loops the nearest bus in the
 *    workspace comes first, so a command in a task folder or in the folder of a run means its loop.
 */
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { busAt, nearestBus, pathOf, PROJECT_BUS, TASK_BUS, type BusFile } from '../bus/bus-file.ts';
import type { Message } from '../bus/message.ts';
import { workspaceAt, workspaceWith } from '../store/find-workspace.ts';
import { projectBus, taskBus } from '../store/loop-bus.ts';
import { Mask, maskOf } from '../store/mask.ts';
import { projectId } from '../store/names.ts';
import { readLoops, type LoopReading } from '../store/read-loop.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { shortList } from '../loop/counted.ts';
import { UserError } from '../user-error.ts';
import { findLoop } from '../loops/find.ts';
import { workspaceOf } from './workspace.ts';

export interface BusOptions {
  readonly cwd?: string;
  /** The bus of all loops of the workspace. */
  readonly project?: boolean;
}

export interface ChosenBus {
  readonly bus: BusFile;
  /** For the messages that are posted to it. */
  readonly projectId: string;
  readonly taskId: string;
  readonly runId: string;
  /** Hides the secrets of the loop in all texts of a message. */
  readonly hide: (message: Message) => Message;
}

export function chooseBus(
  name: string | null,
  options: BusOptions,
  env: NodeJS.ProcessEnv = process.env,
): ChosenBus {
  const inside = options.cwd === undefined && (name === null || name === env['RALPH_LOOP']);
  const given = inside ? env['JRUN_MESSAGE_BUS'] || env['MESSAGE_BUS'] || null : null;
  if (given !== null) return fromEnvironment(given, options, env);
  const from = workspaceOf(options);
  const workspace = name === null ? workspaceAt(from) : workspaceWith(from, name);
  const project = { projectId: projectId(workspace), runId: '' };
  if (options.project === true && name === null) {
    const own = new Mask(startersEnvironment(process.env));
    return { ...project, bus: projectBus(workspace), taskId: '', hide: (message) => own.value(message) };
  }
  const loops = name === null ? readLoops(workspace) : [];
  const near = name === null ? busBelow(from, loops.length === 0 ? null : workspace) : null;
  if (near !== null) return nearby(near, options);
  const { folder, spec } = name === null ? onlyLoop(loops, workspace) : findLoop(workspace, name);
  const mask = maskOf(spec);
  return {
    ...project,
    bus: options.project === true ? projectBus(workspace) : taskBus(folder.desk),
    taskId: spec.name,
    hide: (message) => mask.value(message),
  };
}

/** The nearest bus, if the folder itself has no loops. A bus above the workspace is not that of its loops. */
function busBelow(from: string, workspace: string | null): BusFile | null {
  if (workspace === null) return nearestBus(from);
  return from === workspace ? null : nearestBus(from, dirname(workspace));
}

/** A bus that was found above the working directory. */
function nearby(bus: BusFile, options: BusOptions): ChosenBus {
  const { root, parts, name } = bus;
  const loop = parts[2];
  if (loop !== undefined) return chooseBus(loop, { ...options, cwd: root }, {});
  if (name === PROJECT_BUS && parts.length > 0) return chooseBus(null, { cwd: root, project: true }, {});
  return fromEnvironment(pathOf(bus), options, {});
}

function fromEnvironment(path: string, options: BusOptions, env: NodeJS.ProcessEnv): ChosenBus {
  const isBus = basename(path) === TASK_BUS || basename(path) === PROJECT_BUS;
  if (!isAbsolute(path) || !isBus || resolve(path) !== path)
    throw new UserError(
      `JRUN_MESSAGE_BUS and MESSAGE_BUS must be the absolute path of a file ${TASK_BUS} or ${PROJECT_BUS}, got ${JSON.stringify(path)}`,
    );
  const task = busAt(path);
  // Beside the tasks, as document 000 has it, or in `.ralph`.
  const folder = task.parts.length > 0 ? join(task.root, '.ralph') : dirname(dirname(path));
  const project = basename(path) === PROJECT_BUS ? task : busAt(join(folder, PROJECT_BUS));
  return {
    bus: options.project === true ? project : task,
    projectId: env['JRUN_PROJECT_ID'] || projectId(task.parts.length > 0 ? task.root : folder),
    taskId: env['JRUN_TASK_ID'] || env['RALPH_LOOP'] || basename(dirname(path)),
    runId: env['JRUN_ID'] ?? '',
    hide: (message) => message,
  };
}

function onlyLoop(loops: readonly LoopReading[], workspace: string): LoopReading {
  const [only, ...others] = loops;
  if (only === undefined)
    throw new UserError(
      `no message bus: there are no loops in ${workspace}; use the bus of the workspace with --project`,
    );
  if (others.length > 0)
    throw new UserError(
      `which loop? There are ${loops.length} in ${workspace}: ${shortList(
        loops.map(({ spec }) => spec.name),
        5,
      )}; name one: ralph bus read NAME, or ralph bus post --loop NAME "text"`,
    );
  return only;
}
