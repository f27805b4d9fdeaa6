import { basename, dirname, isAbsolute, join } from 'node:path';

/** The paths of a loop's files. */
export class LoopFolder {
  readonly path: string;
  readonly name: string;
  /** The workspace that contains the folder; `spec.json` names another one after the workspace was moved or copied. */
  readonly workspace: string;
  readonly spec: string;
  readonly journal: string;
  readonly lock: string;
  readonly snapshot: string;
  readonly inbox: string;
  readonly children: string;
  readonly stateFile: string;
  readonly iterationsLog: string;
  readonly progressFile: string;
  /** The progress file of the unfinished loop that this one replaced. */
  readonly earlierProgress: string;
  /** The logs of the checks before the first iteration. */
  readonly baseline: string;
  readonly bus: string;
  /** Exists only during a rewind. */
  readonly rewindScratch: string;

  constructor(path: string) {
    this.path = path;
    this.name = basename(path);
    this.workspace = dirname(dirname(dirname(path)));
    this.spec = join(path, 'spec.json');
    this.journal = join(path, 'journal.jsonl');
    this.lock = join(path, 'lock');
    this.snapshot = join(path, 'snapshot.json');
    this.inbox = join(path, 'inbox');
    this.children = join(path, 'children');
    this.stateFile = join(path, 'state.json');
    this.iterationsLog = join(path, 'iterations.log');
    this.progressFile = join(path, 'progress.md');
    this.earlierProgress = join(path, 'earlier-progress.md');
    this.baseline = join(path, 'baseline');
    this.bus = join(path, 'TASK-MESSAGE-BUS.md');
    this.rewindScratch = join(path, 'rewinds', 'scratch');
  }

  /** Exact copies of files before a rewind, if git's record of them (`rewind-1`) is not exact. */
  rewind(record: string): string {
    return join(this.path, 'rewinds', record);
  }

  /** The path of a marker: in this folder, unless the policy gives an absolute path. */
  marker(name: string): string {
    return isAbsolute(name) ? name : join(this.path, name);
  }

  /** `runs/0007` for the first run of the seventh iteration, `runs/0007.2` for the second. */
  run(run: string): string {
    const [iteration = '0', number = '1'] = run.split('.');
    const padded = iteration.padStart(4, '0');
    return join(this.path, 'runs', number === '1' ? padded : `${padded}.${number}`);
  }

  /** Where the agent of a run reads its prompt. */
  prompt(run: string): string {
    return join(this.run(run), 'prompt.md');
  }
}

/** The stdout log of a run, relative to the workspace. */
export function logOf(name: string, run: string): string {
  return join(loopFolder('', name).run(run), 'stdout.log');
}

export function loopsFolder(workspace: string): string {
  return join(workspace, '.ralph', 'loops');
}

export function loopFolder(workspace: string, name: string): LoopFolder {
  return new LoopFolder(join(loopsFolder(workspace), name));
}

export function archiveFolder(workspace: string): string {
  return join(workspace, '.ralph', 'archive');
}
