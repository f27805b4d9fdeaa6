/** The message buses of a loop, its own on the desk and that of all loops of its workspace, and the time of a message. */
import { dirname } from 'node:path';
import { PROJECT_BUS, TASK_BUS, type BusFile } from '../bus/bus-file.ts';
import type { Message } from '../bus/message.ts';
import { localTime } from '../text/times.ts';
import type { Desk, LoopFolder } from './store.ts';

export function taskBus({ workspace, taskParts }: Desk): BusFile {
  return { root: workspace, parts: taskParts, name: TASK_BUS };
}

export function projectBus(workspace: string): BusFile {
  return { root: workspace, parts: ['.ralph'], name: PROJECT_BUS };
}

/** The bus of a loop's project. The task folder that a user has made is in the folder of its project. */
export function projectBusOf({ workspace, desk }: Pick<LoopFolder, 'workspace' | 'desk'>): BusFile {
  return desk.isUsersTask
    ? { root: dirname(workspace), parts: [], name: PROJECT_BUS }
    : projectBus(workspace);
}

/** When a message was posted, in local time: `2026-02-05 10:00:00`; null if it does not say. */
export function postedAt({ ts }: Pick<Message, 'ts'>): string | null {
  const moment = Date.parse(ts);
  return Number.isNaN(moment) ? null : localTime(moment).replace('T', ' ');
}
