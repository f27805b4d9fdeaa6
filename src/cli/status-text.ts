import { localTime } from '../journal/times.ts';
import type { StatusParts } from '../views/remembered-status.ts';
import { homely } from './homely.ts';

/** The text of `ralph status` for one loop; `path` is the folder of its state. */
export function statusText({ head, startedAt, iterationStartedAt, rest }: StatusParts, path: string): string {
  return [
    ...head,
    `Started: ${time(startedAt)}`,
    `Current iteration started: ${time(iterationStartedAt)}`,
    ...rest,
    `Logs: ${homely(path)}`,
  ].join('\n');
}

function time(moment: number | null): string {
  return moment === null ? '-' : localTime(moment).replace('T', ' ');
}
