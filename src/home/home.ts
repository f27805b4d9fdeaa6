/**
 * Where a loop is kept: two places.
 *
 * 1. Its state, `<state folder>/loops/<id>/`, is outside the workspace and only this user's. Ralph believes what it reads
 *    there.
 * 2. Its workspace folder, `.ralph/loops/<name>/` in the workspace, is what people and agents read and write. It may be deleted at any
 *    moment and is made again. Nothing in it is believed, except what is an agent's word anyway.
 * 3. Both have the same inner order, so that a log in the workspace folder is a copy of the one at the same place in the state.
 */
import { isAbsolute, join, relative } from 'node:path';
import { TASK_BUS } from '../bus/bus-file.ts';
import { stateFolder } from './state-folder.ts';

/** The paths of a loop's state, which Ralph believes. */
export class LoopFolder {
  readonly path: string;
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
  readonly task?: TaskIds;
  readonly workspaceFolder: WorkspaceFolder;
  readonly spec: string;
  readonly journal: string;
  /** Exists until the first event. */
  readonly asked: string;
  readonly lock: string;
  readonly snapshot: string;
  /** What the owner of a loop that is done has noted about its end. */
  readonly ended: string;
  readonly inbox: string;
  /** What was noted when the loop has ended the daemon (`trouble.ts`). */
  readonly trouble: string;
  /** One file per child loop whose end the journal does not have yet, and their lock. */
  readonly children: string;
  readonly childrenLock: string;
  /** How much of the journal was posted on the message buses. */
  readonly posted: string;
  /** How much of the journal was sent as notices, and the lock of the process that sends them. */
  readonly notices: string;
  readonly noticesLock: string;
  /** The progress file of the unfinished loop that this one replaced. */
  readonly earlierProgress: string;
  /** The logs of the checks before the first iteration. */
  readonly baseline: string;
  /** The items of the plan when the loop started, and before the last iteration. */
  readonly plan: string;
  readonly planBefore: string;
  /** Exists only during a rewind. */
  readonly rewindScratch: string;

  // Lists make thousands of these: `join` would take a tenth of their time.
  constructor({ id, name, workspace, task }: LoopKey, path: string = join(loopsFolder(), id)) {
    this.path = path;
    this.id = id;
    this.name = name;
    this.workspace = workspace;
    if (task !== undefined) this.task = task;
    this.workspaceFolder = new WorkspaceFolder(workspace, name, task === undefined ? null : id);
    this.spec = `${path}/spec.json`;
    this.journal = `${path}/journal.jsonl`;
    this.asked = `${path}/asked.json`;
    this.lock = `${path}/lock`;
    this.snapshot = `${path}/snapshot.json`;
    this.ended = `${path}/ended`;
    this.inbox = `${path}/inbox`;
    this.trouble = `${path}/trouble.json`;
    this.children = `${path}/children`;
    this.childrenLock = `${path}/children.lock`;
    this.posted = `${path}/posted`;
    this.notices = `${path}/notices.json`;
    this.noticesLock = `${path}/notices.lock`;
    this.earlierProgress = `${path}/earlier-progress.md`;
    this.baseline = `${path}/baseline`;
    this.plan = `${path}/plan.json`;
    this.planBefore = `${path}/plan-before.json`;
    this.rewindScratch = `${path}/rewinds/scratch`;
  }

  /** Exact copies of files before a rewind, if git's record of them (`rewind-1`) is not exact. */
  rewind(record: string): string {
    return join(this.path, 'rewinds', record);
  }

  run(run: string): string {
    return join(this.path, runFolder(run));
  }

  /** The prompt as it was given to the agent of a run. */
  prompt(run: string): string {
    return join(this.run(run), 'prompt.md');
  }

  /** The log that the journal names by the path of its copy in the workspace folder. The workspace may have been moved since. */
  log(shown: string): string {
    const [, inner] = /(?:^|\/)loops\/[^/]+\/((?:runs|baseline)\/.*)$/.exec(shown) ?? [];
    return join(this.path, inner ?? 'no-such-log');
  }

  /** The copy in the workspace folder of a file in the state. */
  copyInWorkspaceFolder(path: string): string {
    return join(this.workspaceFolder.path, relative(this.path, path));
  }
}

/** What a loop is found by. */
export interface LoopKey {
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
  /** Where the workspace itself is the task folder of document 000. */
  readonly task?: TaskIds | undefined;
  /** The digest of the request that started it, while the name is registered; absent without one. */
  readonly request?: string | undefined;
}

/** The ids of document 000. */
export interface TaskIds {
  readonly project: string;
  readonly task: string;
}

/**
 * The paths of a loop's workspace folder, which people and agents read and write. It is also the task folder of document 000, unless the
 * workspace is that.
 */
export class WorkspaceFolder {
  readonly workspace: string;
  /** The folders from the workspace to the workspace folder. */
  readonly parts: readonly string[];
  readonly path: string;
  readonly lock: string;
  /** Keeps everything in `.ralph` but the shared settings out of git. */
  readonly ignoreFile: string;
  readonly stateFile: string;
  readonly iterationsLog: string;
  readonly progressFile: string;
  /** The task folder, and the folders from the workspace to it. */
  readonly task: string;
  readonly taskParts: readonly string[];
  readonly bus: string;
  /** The task in the user's words, and the folder with one folder per run: names of document 000. */
  readonly taskFile: string;
  readonly runs: string;
  readonly #runsOf: string | null;

  /** `runsOf` is the id of the loop if the workspace is its task folder, where several loops have runs. */
  constructor(workspace: string, name: string, runsOf: string | null = null) {
    this.workspace = workspace;
    this.parts = ['.ralph', 'loops', name];
    this.path = join(workspace, ...this.parts);
    this.lock = `${this.path}/lock`;
    this.ignoreFile = join(workspace, '.ralph', '.gitignore');
    this.stateFile = `${this.path}/state.json`;
    this.iterationsLog = `${this.path}/iterations.log`;
    this.progressFile = `${this.path}/progress.md`;
    this.#runsOf = runsOf;
    this.taskParts = runsOf === null ? this.parts : [];
    this.task = join(workspace, ...this.taskParts);
    this.bus = join(this.task, TASK_BUS);
    this.taskFile = join(this.task, 'TASK.md');
    this.runs = join(this.task, RUNS);
  }

  /** Whether the user has made the task folder, and everything in it that is not Ralph's. */
  get isUsersTask(): boolean {
    return this.#runsOf !== null;
  }

  /** The path of a marker: in the task folder, unless the policy gives an absolute path. */
  marker(name: string): string {
    return isAbsolute(name) ? name : join(this.task, name);
  }

  /** The agent's own folder of a run: `RUN_FOLDER`. */
  run(run: string): string {
    return this.#runsOf === null
      ? join(this.path, runFolder(run))
      : join(this.runs, `${this.#runsOf}.${run}`);
  }

  /** The prompt where an agent opens it by its path. */
  prompt(run: string): string {
    return join(this.run(run), 'prompt.md');
  }

  /** Copies of what the agent printed. */
  stdout(run: string): string {
    return join(this.run(run), 'agent-stdout.txt');
  }

  stderr(run: string): string {
    return join(this.run(run), 'agent-stderr.txt');
  }

  /** What the run has to say at its end; the agent may write it itself. */
  output(run: string): string {
    return join(this.run(run), 'output.md');
  }
}

const RUNS = 'runs';

/** `runs/0007` for the first run of the seventh iteration, `runs/0007.2` for the second. */
function runFolder(run: string): string {
  const [iteration = '0', number = '1'] = run.split('.');
  const padded = iteration.padStart(4, '0');
  return join(RUNS, number === '1' ? padded : `${padded}.${number}`);
}

/** The states of all loops of this user. */
export function loopsFolder(): string {
  return join(stateFolder(), 'loops');
}

/** The states of loops that were replaced by others of their name. */
export function archiveFolder(): string {
  return join(stateFolder(), 'archive');
}
