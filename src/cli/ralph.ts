/** `ralph ralph`: document 003's `swarm ralph`, with its texts. A name that no loop has is a worker that is no loop. */
import { viewOf } from '../loops/view.ts';
import { statusText } from '../text/status.ts';
import { ofLimit } from '../loop/counted.ts';
import { wordings } from '../loop/wording.ts';
import { masks } from '../store/mask.ts';
import { readLoops, type LoopReading } from '../store/read-loop.ts';
import { UserError } from '../user-error.ts';
import { summaryOf } from '../loops/summary.ts';
import { WORKER_STATUSES, workerRecord, workerStatus } from '../loops/worker-record.ts';
import { pause } from './control.ts';
import { findLoop } from '../loops/find.ts';
import { oneOf } from './options.ts';
import { print, printColumns, printJson } from './print.ts';
import { resumeLoop } from './resume.ts';
import { listedWorkspace, workspaceOf } from './workspace.ts';

interface Where {
  readonly cwd?: string;
}

export function workerStatusOf(name: string, options: Where): number {
  const loop = findWorker(name, options);
  print(`${statusText(viewOf(loop), process.env['HOME'], workerStatus(loop))}\n`);
  return 0;
}

export async function pauseWorker(name: string, options: Where): Promise<number> {
  findWorker(name, options);
  return pause(name, options, wordings.swarm);
}

export async function resumeWorker(name: string, options: Where): Promise<number> {
  findWorker(name, options);
  return resumeLoop(name, options, wordings.swarm);
}

/** The loops of the workspace; nothing if there are none. */
export function listWorkers(options: ListOptions): number {
  const format = oneOf('--format', options.format ?? 'table', ['table', 'json', 'names']);
  const status = oneOf('--status', options.status ?? 'all', [...WORKER_STATUSES, 'all']);
  const loops = readLoops(listedWorkspace(options)).filter(
    (loop) => status === 'all' || workerStatus(loop) === status,
  );
  const mask = masks();
  if (format === 'json')
    printJson(
      loops.map((loop) => mask(loop.spec).value(workerRecord(loop))),
      2,
    );
  else if (format === 'names') for (const { spec } of loops) print(`${spec.name}\n`);
  else if (loops.length > 0) printColumns([HEAD, ...loops.map(rowOf)]);
  return 0;
}

interface ListOptions extends Where {
  readonly format?: string;
  readonly status?: string;
}

const HEAD = ['NAME', 'RALPH_STATUS', 'WORKER_STATUS', 'ITERATION', 'FAILURES'];

function rowOf(loop: LoopReading): readonly string[] {
  const { iterations, iterationLimit } = summaryOf(loop);
  const worker = workerRecord(loop).pid === null ? 'stopped' : 'running';
  const failures = String(loop.state.failures.total);
  return [loop.spec.name, workerStatus(loop), worker, ofLimit(iterations, iterationLimit), failures];
}

function findWorker(name: string, options: Where): LoopReading {
  try {
    return findLoop(workspaceOf(options), name);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`worker '${name}' is not a ralph worker\n${error.message}`, 1);
  }
}
