import { readFileSync } from 'node:fs';
import { replaceFile } from './replace-file.ts';
import { redact } from './secrets.ts';

/** What a loop is, besides its policy: which agent works on what, and where. */
export interface Spec {
  readonly version: 1;
  /** Unique, even when the name is used again. */
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
  readonly created: string;
  readonly agent: {
    readonly kind: string;
    /**
     * The program and its flags: the user's, or else those that let it work without asking. The adapter adds the flags
     * that make it headless and readable. The command of an agent without an adapter is complete.
     */
    readonly argv: readonly string[];
    readonly model?: string;
    readonly promptVia?: 'stdin' | 'file' | 'argument';
    /** Variables that are set for it and are not secret. */
    readonly env?: Readonly<Record<string, string>>;
    /** The names of variables that were given with `--env` and are not kept after the end. */
    readonly given?: readonly string[];
    /** Variables that are removed from its environment. */
    readonly drop?: readonly string[];
  };
  readonly prompt: PromptSource;
  /** Where the loop belongs: in a terminal, in a background process, or in a session of an agent. Absent: foreground. */
  readonly place?: 'foreground' | 'background' | 'session';
  /** The loop's own worktree; absent where the loop works in the workspace. */
  readonly worktree?: Worktree;
  /** The run that started this loop, and the folder of that run's loop. */
  readonly parent: { readonly run: string; readonly folder: string } | null;
}

export interface Worktree {
  readonly path: string;
  readonly branch: string;
  /** The branch that was checked out in the workspace when the worktree was made; null for a detached HEAD. */
  readonly from: string | null;
  /** The folder in it that corresponds to the workspace, which may be a subfolder of its repository. */
  readonly folder: string;
}

/** Where the agent works and the checks run; the loop's own folder is always in the workspace. */
export function treeOf({ worktree, workspace }: Spec): string {
  return worktree?.folder ?? workspace;
}

/** A text, a file, or a specification file with the text that is used once that file is gone. */
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
