import { join } from 'node:path';
import { TASK_BUS, busAt } from '../../src/bus/bus-file.ts';
import { readMessages } from '../../src/bus/bus.ts';

/** What is on the bus of a task as `TYPE body`, without the messages about single runs. */
export function ownPosts(taskFolder: string): readonly string[] {
  return readMessages(busAt(join(taskFolder, TASK_BUS))).flatMap(({ type, body }) =>
    type.startsWith('RUN_') ? [] : [`${type} ${body}`],
  );
}
