/** `ralph ralph`: document 003's `swarm ralph`, with its texts. A name that no loop has is a worker that is no loop. */
import { statusText } from '../text/status.ts';
import { wordings } from '../loop/wording.ts';
import { UserError } from '../user-error.ts';
import { workerStatus, WORKER_STATUSES } from '../loops/list.ts';
import { localLoops } from '../loops/local-loops.ts';
import type { LoopView } from '../loops/loops.ts';
import { ralphTable, workerRecord } from '../text/workers.ts';
import { pause } from './control.ts';
import { oneOf } from './options.ts';
import { print, printAsIs, printColumns, printJson, readerHere } from './print.ts';
import { resumeLoop } from './resume.ts';
import { workspaceOf } from './workspace.ts';

interface Where {
  readonly cwd?: string;
}

export async function workerStatusOf(name: string, options: Where): Promise<number> {
  const loop = await findWorker(name, options);
  printAsIs(`${statusText(loop, { ...readerHere(), word: workerStatus(loop.summary, loop) })}\n`);
  return 0;
}

export async function pauseWorker(name: string, options: Where): Promise<number> {
  await findWorker(name, options);
  return pause(name, options, wordings.swarm);
}

export async function resumeWorker(name: string, options: Where): Promise<number> {
  await findWorker(name, options);
  return resumeLoop(name, options, wordings.swarm);
}

/** The loops of the workspace; nothing if there are none. */
export async function listWorkers(options: ListOptions): Promise<number> {
  const format = oneOf('--format', options.format ?? 'table', ['table', 'json', 'names']);
  const status = oneOf('--status', options.status ?? 'all', [...WORKER_STATUSES, 'all']);
  const rows = await localLoops().list({
    workspace: workspaceOf(options),
    status: status === 'all' ? null : status,
  });
  if (format === 'json') printJson(rows.map(workerRecord), 2);
  else if (format === 'names') for (const { name } of rows) print(`${name}\n`);
  else if (rows.length > 0) printColumns(ralphTable(rows));
  return 0;
}

interface ListOptions extends Where {
  readonly format?: string;
  readonly status?: string;
}

async function findWorker(name: string, options: Where): Promise<LoopView> {
  const loops = localLoops();
  try {
    return await loops.get(await loops.find(name, workspaceOf(options)));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`worker '${name}' is not a ralph worker\n${error.message}`, 1);
  }
}
