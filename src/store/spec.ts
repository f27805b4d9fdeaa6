import { PRIVATE_FILE, readRegular } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { describeProblem } from '../loop/shape.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { projectId } from './names.ts';
import { redact } from '../loop/secrets.ts';
import { SPEC } from './spec-shape.ts';
import type { TaskIds } from './store.ts';

/** `spec.json`, what defines a loop in addition to its policy: the agent, the prompt and the place. */
export interface Spec {
  readonly version: 1;
  /** Unique, even if another loop gets the same name. */
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
  /** The ids of document 000, where the workspace itself is the task folder. */
  readonly task?: TaskIds;
  /** The folders that the workspace was in before `ralph move`, the last one last; absent if it never was moved. */
  readonly movedFrom?: readonly string[];
  readonly created: string;
  readonly agent: {
    readonly kind: string;
    /**
     * The program and its flags: those of the user, else those that let it work without asking for permission. The adapter
     * adds the flags that make it headless and its output readable. Without an adapter this is the complete command.
     */
    readonly argv: readonly string[];
    readonly model?: string;
    readonly promptVia?: 'stdin' | 'file' | 'argument';
    /** Environment variables for it that are not secret. */
    readonly env?: Readonly<Record<string, string>>;
    /** The names of the variables given with `--env`; their values are not kept after the loop ends. */
    readonly given?: readonly string[];
    /** Variables to remove from its environment. */
    readonly drop?: readonly string[];
  };
  readonly prompt: PromptSource;
  /** Where the loop runs: in a terminal (the default), in a background process, or in a session of an agent. */
  readonly place?: 'foreground' | 'background' | 'session';
  /** The id of that session, the only one whose turns are runs of the loop. */
  readonly session?: string;
  /** Words that the user has given it, for lists. */
  readonly tags?: readonly string[];
  /** The loop's own worktree; absent if it works in the workspace. */
  readonly worktree?: Worktree;
  /** The tmux window that shows the loop; absent if it has none. */
  readonly window?: TmuxWindow;
  /** The run that started this loop; null if a person did, or the loop is not to be a child. */
  readonly parent: ParentRun | null;
  /** Whose budget it counts in; absent for a loop that no run of another loop has started. */
  readonly family?: FamilyPlace;
}

/** The place of a loop in its family, by the ids of its loops. */
export interface FamilyPlace {
  /** The first loop, whose state has the ledger. */
  readonly root: string;
  /** The loop whose run started this one. */
  readonly payer: string;
}

export interface ParentRun {
  /** The run's marker: the id of its loop and the number of the run. */
  readonly run: string;
  /** The state of its loop. */
  readonly folder: string;
  /** How many generations the child is below the first loop; known once it is created. */
  readonly depth?: number;
}

/** Where the window is: in a session of Ralph's tmux server, if not in the usual one. */
export interface TmuxWindow {
  /** The name of the server's socket (`tmux -L`). */
  readonly socket?: string;
  readonly session?: string;
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

/** The ids of its project and its task in document 000. */
export function idsOf({ task, workspace, name }: Pick<Spec, 'task' | 'workspace' | 'name'>): TaskIds {
  return task ?? { project: projectId(workspace), task: name };
}

/** Whether the agent lives in a session of another program, which the loop cannot start or end. */
export function isInSession({ place }: Spec): boolean {
  return place === 'session';
}

/** A text, which may be a specification; a file; or a specification file with a text to use if that file is gone. */
export type PromptSource =
  | { readonly text: string }
  | { readonly text: string; readonly isSpecification: true }
  | { readonly file: string }
  | { readonly text: string; readonly spec: string };

/** Reads a spec; throws a `UserError` if there is none or it is invalid. */
export function readSpec(path: string): Spec {
  const value = readValue(path);
  const [problem] = SPEC(value, '');
  if (problem !== undefined) throw unreadable(path, describeProblem(problem));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its shape was checked
  return value as Spec;
}

function readValue(path: string): unknown {
  try {
    const content = readRegular(path, MAX_BYTES);
    if (content !== null) return JSON.parse(content.toString('utf8'));
  } catch (error) {
    throw unreadable(path, error instanceof SyntaxError ? 'it is not JSON' : reasonOf(error));
  }
  throw unreadable(path, 'no such file or folder');
}

function unreadable(path: string, why: string): UserError {
  return new UserError(`cannot read ${path}: ${why}`);
}

/** A spec can contain a long prompt. */
const MAX_BYTES = 64 * 2 ** 20;

export function writeSpec(path: string, spec: Spec, env: Readonly<Record<string, string>>): void {
  const argv = redact(spec.agent.argv, env);
  const text = JSON.stringify({ ...spec, agent: { ...spec.agent, argv } }, null, 2);
  replaceFile(path, `${text}\n`, { flush: true, mode: PRIVATE_FILE });
}
