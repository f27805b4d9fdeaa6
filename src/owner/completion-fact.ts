/**
 * Tells the project that a task is complete: one `FACT` on the bus of the project.
 *
 * 1. A file in the workspace folder and the bus itself say which completions were told already. The same DONE marker counts once, also
 *    for another loop that finds it.
 * 2. Everyone can write both. What they say can only keep a fact from being posted.
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { messagesAfter, post } from '../bus/bus.ts';
import { pathOf } from '../bus/bus-file.ts';
import type { Draft, Message } from '../bus/message.ts';
import { foundAt, textOf } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { counted } from '../loop/counted.ts';
import type { Knowledge } from '../loop/report.ts';
import type { LoopState } from '../loop/state.ts';
import { inWorkspaceFolder } from '../workspace/workspace-folder.ts';
import { projectBusOf, taskBus } from '../home/buses.ts';
import type { WorkspaceFolder, LoopFolder } from '../home/home.ts';

/** Posts the fact unless it was posted already; `own` has the ids of the loop. */
export async function propagateCompletion(
  folder: LoopFolder,
  { state, report }: Knowledge,
  own: Draft,
): Promise<void> {
  const { workspaceFolder } = folder;
  const doneAt = doneTime(workspaceFolder, state);
  const facts = messagesAfter(taskBus(workspaceFolder), null).filter(({ type }) => type === 'FACT').length;
  const failed = state.failures.total;
  const key = hash('sha256', JSON.stringify([own.taskId, doneAt, facts, report.runs, failed]));
  if (keyInWorkspaceFolder(workspaceFolder) === key) return;
  const meta = {
    ...own.meta,
    kind: KIND,
    propagation_key: key,
    source_project_id: own.projectId,
    source_task_id: own.taskId,
    source_bus: pathOf(taskBus(workspaceFolder)),
    ...(doneAt === null ? {} : { done_at: doneAt }),
    runs: String(report.runs),
    failed_runs: String(failed),
  };
  const bus = projectBusOf(folder);
  const isTold = ({ meta: told }: Message): boolean =>
    told['kind'] === KIND &&
    told['source_task_id'] === own.taskId &&
    (told['propagation_key'] === key || (doneAt !== null && told['done_at'] === doneAt));
  if (!messagesAfter(bus, null).some(isTold)) {
    const runs = `${counted(report.runs, 'run')}${failed === 0 ? '' : `, ${failed} failed`}`;
    await post(bus, { ...own, type: 'FACT', meta, body: `task ${own.taskId} completed (${runs})` });
  }
  inWorkspaceFolder(workspaceFolder, workspaceFolder.task, (place) =>
    replaceFile(join(place, FILE), `propagation_key: ${key}\n`),
  );
}

const KIND = 'task_completion_propagation';
const FILE = 'TASK-COMPLETE-FACT-PROPAGATION.yaml';

/** When the marker that completed the loop was made, exactly; null if no marker did. */
function doneTime(workspaceFolder: WorkspaceFolder, { policy, turn }: LoopState): string | null {
  if (turn.claim?.by !== 'marker') return null;
  const marker = policy.completion.detectors.find(({ kind }) => kind === 'marker');
  const found = marker?.kind === 'marker' ? foundAt(workspaceFolder.marker(marker.file)) : null;
  return found === null ? null : String(found.mtimeMs);
}

function keyInWorkspaceFolder(workspaceFolder: WorkspaceFolder): string | null {
  return (
    /^propagation_key: ([0-9a-f]{64})$/m.exec(textOf(join(workspaceFolder.task, FILE), 4096) ?? '')?.[1] ??
    null
  );
}
