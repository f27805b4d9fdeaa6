/**
 * Children that other programs have registered with a `run-info.yaml` in the task folder of document 000.
 *
 * 1. They make a loop that is done wait, for as long as its policy says, and outlive the run that started them. No process is
 *    ended because of a record.
 * 2. A record is not believed: its process group must exist, and neither the loop's own runs nor folders with the name of a
 *    loop count. So the ids of child loops and of recorded children cannot be confused.
 * 3. The record of a run whose process group is gone is closed, so that no other program waits for it either.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { below } from '../files/below.ts';
import { codeOf, namesIn } from '../files/files.ts';
import type { Happening } from '../loop/event.ts';
import type { Policy } from '../loop/policy.ts';
import type { LoopState } from '../loop/state.ts';
import { isGroupAlive } from '../process/stop.ts';
import { reasonOf } from '../user-error.ts';
import { isLoopId } from '../loop/child-report.ts';
import { loopIdOf } from './run-environment.ts';
import { closed, isOpen, readRecord, RECORD_FILE, updateRecord, type ForeignRecord } from './run-record.ts';
import type { WorkspaceFolder, LoopFolder } from './home.ts';

/** Recorded children that started or ended since the journal last said so; starts to close the records of dead ones. */
export function recordedChanges(folder: LoopFolder, state: LoopState): readonly Happening[] {
  const found = recordedChildren(folder, state.policy);
  void closeDeadRuns(folder.workspaceFolder, found);
  const known = state.children.filter((child) => !isLoopId(child));
  return [
    ...known
      .filter((child) => found.isGone(child))
      .map((child): Happening => ({ type: 'child.ended', child })),
    ...found.active
      .filter((child) => !known.includes(child))
      .map((child): Happening => ({ type: 'child.started', child, record: true })),
  ];
}

export interface RecordedChildren {
  /** The names of the folders of active children. */
  readonly active: readonly string[];
  /** Their process groups. */
  readonly groups: readonly number[];
  /** Runs whose records are open and whose process groups are gone. */
  readonly dead: readonly DeadRun[];
  /** Whether a child is known to have ended; one of which nothing is known is not. */
  readonly isGone: (child: string) => boolean;
  /** The first thing that is wrong with the records; null if nothing is. */
  readonly problem: string | null;
}

interface DeadRun {
  readonly name: string;
  readonly isChild: boolean;
  /** Whether it has ended with its run, whatever process group its record names. */
  readonly isOver: boolean;
}

/**
 * Looks at the records of other programs, between two runs. What a sandboxed agent has started has ended with its run, and the numbers in
 * its records are those of another PID namespace.
 */
export function recordedChildren(
  { workspaceFolder, id }: Pick<LoopFolder, 'workspaceFolder' | 'id'>,
  { sandbox }: Pick<Policy, 'sandbox'> = { sandbox: null },
): RecordedChildren {
  const active: string[] = [];
  const groups: number[] = [];
  const dead: DeadRun[] = [];
  const unknown = new Set<string>();
  const left = { bytes: MAX_BYTES };
  let problem: string | null = null;
  try {
    for (const name of foreignFolders(workspaceFolder)) {
      try {
        const record = inRun(workspaceFolder, name, (folder) => readRecord(folder, left));
        const isMine = loopIdOf(record?.run_id ?? '') === id;
        if (record === null || isMine || !isOpen(record)) continue;
        const isChild = isChildRecord(record);
        const isOver = sandbox !== null && loopIdOf(record.parent_run_id ?? '') === id;
        if (isOver || !isGroupAlive(record.pgid)) dead.push({ name, isChild, isOver });
        else if (isChild) {
          active.push(name);
          groups.push(record.pgid);
        }
      } catch (error) {
        if (isMissing(error)) continue;
        unknown.add(name);
        problem ??= `${join('runs', name, RECORD_FILE)}: ${firstLine(error)}`;
      }
    }
  } catch (error) {
    return { active: [], groups: [], dead: [], isGone: () => false, problem: `runs: ${firstLine(error)}` };
  }
  return { active, groups, dead, isGone: (child) => !active.includes(child) && !unknown.has(child), problem };
}

/** The folders of runs that are not the loop's own. Without a `runs` folder there are none; a file in its place is an error. */
function foreignFolders(workspaceFolder: WorkspaceFolder): readonly string[] {
  const names = inRuns(workspaceFolder, (folder) =>
    readdirSync(folder)
      .filter((name) => !OWN_RUN.test(name) && !isLoopId(name))
      .toSorted()
      .filter((name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === true),
  );
  if (names.length > MAX_RUNS)
    throw new Error(`${names.length} folders of other programs (maximum ${MAX_RUNS})`);
  const odd = names.find((name) => !SHOWN_NAME.test(name));
  if (odd !== undefined) throw new Error(`bad name of a folder: ${JSON.stringify(odd)}`);
  return names;
}

/** `0007` and `0007.2`. */
const OWN_RUN = /^\d{4,}(?:\.\d+)?$/;
/** Names are shown in terminals and messages. */
const SHOWN_NAME = /^[\w.@+-]{1,128}$/;
/** An agent can make any number of them, and each is read several times. */
const MAX_RUNS = 1000;
/** The length of all records together. */
const MAX_BYTES = 2 ** 20;

function inRuns<T>(workspaceFolder: WorkspaceFolder, use: (folder: string) => T): T | readonly [] {
  try {
    return below(workspaceFolder.workspace, [...workspaceFolder.taskParts, 'runs'], { make: false }, use);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function inRun<T>(workspaceFolder: WorkspaceFolder, name: string, use: (folder: string) => T): T {
  return below(workspaceFolder.workspace, [...workspaceFolder.taskParts, 'runs', name], { make: false }, use);
}

function isChildRecord({ parent_run_id: parent }: ForeignRecord): boolean {
  return parent !== undefined && parent !== null && parent !== '';
}

/** Closes the records of dead runs, each only once at a time. */
export async function closeDeadRuns(
  workspaceFolder: WorkspaceFolder,
  { dead }: Pick<RecordedChildren, 'dead'>,
): Promise<void> {
  await Promise.all(
    dead.map(async (run) => {
      const path = join(workspaceFolder.runs, run.name);
      if (closing.has(path)) return;
      closing.add(path);
      await close(workspaceFolder, run);
      closing.delete(path);
    }),
  );
}

const closing = new Set<string>();

/** Closes the record of a dead run; one that is locked for too long, or cannot be written, is left for the next look. */
async function close(workspaceFolder: WorkspaceFolder, { name, isChild, isOver }: DeadRun): Promise<void> {
  const isDone = !isChild && namesIn(workspaceFolder.task).includes('DONE');
  try {
    await updateRecord(
      (use) => inRun(workspaceFolder, name, use),
      // Another program may have closed it meanwhile, or a new process may have its place.
      (record) =>
        isOpen(record) && (isOver || !isGroupAlive(record.pgid))
          ? closed(record, new Date(), { isDone })
          : null,
    );
  } catch {
    // The record is of no use to this loop.
  }
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

/** A parser may show the lines around an error, and quote what it found. */
function firstLine(error: unknown): string {
  return (reasonOf(error).split('\n')[0] ?? '').replaceAll(/\p{C}/gu, '\uFFFD').slice(0, 300);
}
