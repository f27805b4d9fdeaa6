/**
 * The message buses of loops: which one is meant, posting to it, and waiting for an answer. `bus/bus.ts` reads and watches them.
 *
 * 1. Inside a run, the environment names it. That needs no registry, so it works in a sandbox too.
 * 2. A path of the environment is used only if it has the name of a bus, and if no link leads to it.
 * 3. Outside, it is the bus of the named loop, or of the only loop of the workspace. In a folder without loops the nearest bus in the
 *    workspace comes first, so a command in a task folder or in the folder of a run means its loop.
 */
import { projectBus, taskBus } from '../home/buses.ts';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { type BusFile, PROJECT_BUS, TASK_BUS, busAt, nearestBus, pathOf } from '../bus/bus-file.ts';
import { messagesAfter, post } from '../bus/bus.ts';
import { type Message, draft } from '../bus/message.ts';
import { type DefaultAnswer, metaOfDefault } from '../bus/question.ts';
import { workspaceAt } from '../home/find-workspace.ts';
import type { LoopFolder } from '../home/home.ts';
import { maskHere, maskOf } from '../home/mask.ts';
import { type LoopReading, readLoops } from '../home/read-loop.ts';
import { shortList } from '../loop/counted.ts';
import { projectId } from '../loop/names.ts';
import { watchUntil } from '../process/watch.ts';
import { UserError } from '../user-error.ts';
import { findLoop } from './find.ts';

export interface LoopBus {
  readonly bus: BusFile;
  /** For the messages that are posted to it. */
  readonly projectId: string;
  readonly taskId: string;
  readonly runId: string;
}

export interface FoundBus extends LoopBus {
  /** Hides the secrets of the loop in all texts of a message. */
  readonly hide: (message: Message) => Message;
}

/** The bus of the run that this process works for; null outside of runs, and for a loop that is not the one of the run. */
export function busOfRun(name: string | null, isProject: boolean): FoundBus | null {
  const { env } = process;
  const path = env['JRUN_MESSAGE_BUS'] || env['MESSAGE_BUS'] || '';
  const isOther = name !== null && name !== env['RALPH_LOOP'];
  return path === '' || isOther ? null : busAtPath(path, isProject, env);
}

/** The bus that is meant in a folder, a real path. `isProject` for that of all loops of the workspace. */
export function busIn(folder: string, name: string | null, isProject: boolean): FoundBus {
  if (name !== null) return busOfReading(findLoop(folder, name), isProject);
  const workspace = workspaceAt(folder);
  if (isProject) {
    const mask = maskHere();
    const from = { projectId: projectId(workspace), taskId: '', runId: '' };
    return { ...from, bus: projectBus(workspace), hide: (message) => mask.value(message) };
  }
  const loops = readLoops(workspace);
  const near = busBelow(folder, loops.length === 0 ? null : workspace);
  return near === null ? busOfReading(onlyLoop(loops, workspace), false) : nearby(near);
}

function busOfReading({ folder, spec }: LoopReading, isProject: boolean): FoundBus {
  const mask = maskOf(spec);
  return { ...busOfLoop(folder, isProject), hide: (message) => mask.value(message) };
}

/** The bus of a loop or of its workspace; `runId` is the run that posts. */
export function busOfLoop(
  { name, workspace, workspaceFolder }: Pick<LoopFolder, 'name' | 'workspace' | 'workspaceFolder'>,
  isProject: boolean,
  runId: string = '',
): LoopBus {
  const bus = isProject ? projectBus(workspace) : taskBus(workspaceFolder);
  return { bus, projectId: projectId(workspace), taskId: name, runId };
}

export interface Posted {
  readonly type: string;
  readonly body: string;
  /** Id of the message that this one answers or continues. */
  readonly parent?: string | undefined;
  /** What a question is answered with if no answer comes in time. */
  readonly otherwise?: DefaultAnswer | undefined;
}

/** Appends a message and returns its id. */
export function postTo(
  { bus, projectId: project, taskId, runId }: LoopBus,
  { type, body, parent, otherwise }: Posted,
): Promise<string> {
  const parents = parent === undefined ? [] : [{ id: parent }];
  const meta = otherwise === undefined ? {} : metaOfDefault(otherwise);
  return post(bus, draft({ type, projectId: project, taskId, runId, parents, meta, body }));
}

/** Waits for the answer of a person to a question; null if there is none before the signal. */
export function answerTo(bus: BusFile, question: string, signal: AbortSignal): Promise<Message | null> {
  const look = (): Message | null =>
    messagesAfter(bus, question).find(
      ({ type, parents }) => type === 'USER' && parents.some(({ id }) => id === question),
    ) ?? null;
  return watchUntil(dirname(pathOf(bus)), look, signal);
}

/** The nearest bus, if the folder itself has no loops. A bus above the workspace is not that of its loops. */
function busBelow(from: string, workspace: string | null): BusFile | null {
  if (workspace === null) return nearestBus(from);
  return from === workspace ? null : nearestBus(from, dirname(workspace));
}

/** A bus that was found above the working directory. */
function nearby(bus: BusFile): FoundBus {
  const { root, parts, name } = bus;
  const loop = parts[2];
  if (loop !== undefined) return busIn(root, loop, false);
  if (name === PROJECT_BUS && parts.length > 0) return busIn(root, null, true);
  return busAtPath(pathOf(bus), false, {});
}

function busAtPath(path: string, isProject: boolean, env: NodeJS.ProcessEnv): FoundBus {
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
    bus: isProject ? project : task,
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
