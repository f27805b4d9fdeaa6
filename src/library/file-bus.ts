import { resolve } from 'node:path';
import type { BusMessage, MessageBus } from './ralph-loop.ts';

/** A message bus in a file, for `RalphLoop`: `append` returns the id of the new message. */
export interface FileBus extends MessageBus {
  append(message: BusMessage): Promise<string>;
}

/** The bus in this file, for example `TASK-MESSAGE-BUS.md` in a run directory. It is created with the first message. */
export function fileBus(path: string): FileBus {
  const absolute = resolve(path);
  return {
    async append(message) {
      const { busAt, draft, post } = await import('../bus/bus.ts');
      const { runId = '', meta = {} } = message;
      return post(busAt(absolute), draft({ ...message, runId, meta }));
    },
  };
}
