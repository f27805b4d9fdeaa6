import { basename, dirname, isAbsolute, join } from 'node:path';

/** The paths of a loop's files. */
export class LoopFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  get name(): string {
    return basename(this.path);
  }
  /** The workspace that contains the folder; `spec.json` names another one after the workspace was moved or copied. */
  get workspace(): string {
    return dirname(dirname(dirname(this.path)));
  }
  get spec(): string {
    return join(this.path, 'spec.json');
  }
  get journal(): string {
    return join(this.path, 'journal.jsonl');
  }
  get lock(): string {
    return join(this.path, 'lock');
  }
  get snapshot(): string {
    return join(this.path, 'snapshot.json');
  }
  get inbox(): string {
    return join(this.path, 'inbox');
  }
  get children(): string {
    return join(this.path, 'children');
  }
  get stateFile(): string {
    return join(this.path, 'state.json');
  }
  get iterationsLog(): string {
    return join(this.path, 'iterations.log');
  }
  get progressFile(): string {
    return join(this.path, 'progress.md');
  }
  /** The progress file of the unfinished loop that this one replaced. */
  get earlierProgress(): string {
    return join(this.path, 'earlier-progress.md');
  }
  /** The logs of the checks before the first iteration. */
  get baseline(): string {
    return join(this.path, 'baseline');
  }
  get bus(): string {
    return join(this.path, 'TASK-MESSAGE-BUS.md');
  }

  /** Exact copies of files before a rewind, if git's record of them (`rewind-1`) is not exact. */
  rewind(record: string): string {
    return join(this.path, 'rewinds', record);
  }
  /** Exists only during a rewind. */
  get rewindScratch(): string {
    return join(this.path, 'rewinds', 'scratch');
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
