/** The message buses of a loop: its own on the desk, and that of all loops of its workspace. */
import { PROJECT_BUS, TASK_BUS, type BusFile } from '../bus/bus-file.ts';
import type { Desk } from './store.ts';

export function taskBus({ workspace, parts }: Desk): BusFile {
  return { root: workspace, parts, name: TASK_BUS };
}

export function projectBus(workspace: string): BusFile {
  return { root: workspace, parts: ['.ralph'], name: PROJECT_BUS };
}
