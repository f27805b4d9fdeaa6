/** The message buses of a loop, its own in the workspace folder and that of all loops of its workspace. */
import { dirname } from 'node:path';
import { PROJECT_BUS, TASK_BUS, type BusFile } from '../bus/bus-file.ts';
import type { WorkspaceFolder, LoopFolder } from './home.ts';

export function taskBus({ workspace, taskParts }: WorkspaceFolder): BusFile {
  return { root: workspace, parts: taskParts, name: TASK_BUS };
}

export function projectBus(workspace: string): BusFile {
  return { root: workspace, parts: ['.ralph'], name: PROJECT_BUS };
}

/** The bus of a loop's project. The task folder that a user has made is in the folder of its project. */
export function projectBusOf({
  workspace,
  workspaceFolder,
}: Pick<LoopFolder, 'workspace' | 'workspaceFolder'>): BusFile {
  return workspaceFolder.isUsersTask
    ? { root: dirname(workspace), parts: [], name: PROJECT_BUS }
    : projectBus(workspace);
}
