import { join } from 'node:path';
import { registeredAs } from '../../../src/home/registry.ts';
import { LoopFolder } from '../../../src/home/home.ts';

/** Where the files of a loop are: its state, and its workspace folder in the workspace. */
export class LoopFiles {
  readonly #stateHome: string;
  readonly #workspace: string;
  readonly #name: string;

  /** `stateHome` is the `XDG_STATE_HOME` of the test. */
  constructor(stateHome: string, workspace: string, name: string) {
    this.#stateHome = stateHome;
    this.#workspace = workspace;
    this.#name = name;
  }

  /** The folder of its state; a path that does not exist while there is no such loop. */
  get state(): string {
    const root = join(this.#stateHome, 'ralph');
    const id = registeredAs(this.#workspace, this.#name, root)?.id ?? `no-loop-named-${this.#name}`;
    return join(root, 'loops', id);
  }

  get workspaceFolder(): string {
    return new LoopFolder({ id: 'any', name: this.#name, workspace: this.#workspace }).workspaceFolder.path;
  }

  /** The path of a file by its name: in the workspace folder if it is a projection or an agent's, else in the state. */
  path(...path: readonly string[]): string {
    const [first = ''] = path.join('/').split('/');
    return join(OF_STATE.has(first) ? this.state : this.workspaceFolder, ...path);
  }
}

const OF_STATE: ReadonlySet<string> = new Set([
  'journal.jsonl',
  'spec.json',
  'asked.json',
  'snapshot.json',
  'ended',
  'lock',
  'inbox',
  'children',
  'runs',
  'baseline',
  'setup',
  'merge',
  'rewinds',
  'owner.log',
  'earlier-progress.md',
]);
