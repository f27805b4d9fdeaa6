import { readFileSync } from 'node:fs';
import { replaceFile } from './replace-file.ts';
import { redact } from './secrets.ts';

/** What a loop is, besides its policy: who works on what, and where. */
export interface Spec {
  readonly version: 1;
  /** Its own, whatever becomes of its name and folder. */
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
  readonly created: string;
  readonly agent: {
    readonly kind: string;
    /**
     * The program, and its flags: those of the user, else those that let it work without asking. The adapter adds what
     * makes it headless and readable. The command of an agent without an adapter is here as a whole.
     */
    readonly argv: readonly string[];
    readonly model?: string;
    readonly promptVia?: 'stdin' | 'file' | 'argument';
    /** Variables that are set for it and are no secrets. */
    readonly env?: Readonly<Record<string, string>>;
    /** The names of variables that were given with the command and are not kept after the end. */
    readonly given?: readonly string[];
    /** Variables that it does not get to see. */
    readonly drop?: readonly string[];
  };
  readonly prompt: PromptSource;
  /** The work is done in a tree of its own, on a branch of its own; absent where it is done in the workspace. */
  readonly worktree?: Worktree;
  /** The run in which this loop was started, and the folder of its loop. */
  readonly parent: { readonly run: string; readonly folder: string } | null;
}

export interface Worktree {
  /** Where it is. */
  readonly path: string;
  readonly branch: string;
  /** The branch that was checked out in the workspace when it was made; null on none. */
  readonly from: string | null;
  /** The folder in it that stands for the workspace, which may be one inside its repository. */
  readonly folder: string;
}

/** Where the agent works and the checks run; the loop's own folder always stays in the workspace. */
export function treeOf({ worktree, workspace }: Spec): string {
  return worktree?.folder ?? workspace;
}

/** The user's words, the file that has them, or a specification, and the words that hold once its file is gone. */
export type PromptSource =
  | { readonly text: string }
  | { readonly file: string }
  | { readonly text: string; readonly spec: string };

export function readSpec(path: string): Spec {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `writeSpec`
  return JSON.parse(readFileSync(path, 'utf8')) as Spec;
}

export function writeSpec(path: string, spec: Spec, env: Readonly<Record<string, string>>): void {
  const argv = redact(spec.agent.argv, env);
  const text = JSON.stringify({ ...spec, agent: { ...spec.agent, argv } }, null, 2);
  replaceFile(path, `${text}\n`, { flush: true });
}
