import { PRIVATE_FILE, readRegular } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import {
  type Rule,
  anyOf,
  describeProblem,
  fields,
  list,
  nullable,
  oneOf,
  optional,
  rule,
  shortText,
  string,
  table,
  whole,
} from '../loop/shape.ts';
import { UserError, reasonOf } from '../user-error.ts';
import { isTmuxName, problemWithName, projectId } from '../loop/names.ts';
import type { NoticeKind } from '../loop/notice.ts';
import { redact } from '../loop/secrets.ts';
import type { TaskIds } from './home.ts';
import { isAbsolute } from 'node:path';
import type { Environment } from '../process/process.ts';

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
    readonly env?: Environment;
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
  /** Where its notices go; absent for nowhere. */
  readonly notices?: readonly NoticeTarget[];
  /** The run that started this loop; null if a person did, or the loop is not to be a child. */
  readonly parent: ParentRun | null;
  /** Whose budget it counts in; absent for a loop that no run of another loop has started. */
  readonly family?: FamilyPlace;
}

/** The channels of notices that the settings name by a word. */
export const NOTICE_PLACES = ['desktop', 'terminal'] as const;

/** The channels that a user can name in front of an address: `ntfy+https://…`. */
export const NOTICE_SERVICES = ['slack', 'ntfy'] as const;

/** Where notices of a loop go. Addresses and keys are secrets and kept elsewhere (`notice-secrets.ts`). */
export interface NoticeTarget {
  /** Unique in its loop. */
  readonly name: string;
  readonly kind: 'address' | 'command' | (typeof NOTICE_PLACES)[number];
  /** The variables with its address and its key; absent for what the user's own settings have. */
  readonly variable?: string;
  readonly keyVariable?: string;
  /** For a shell. */
  readonly command?: string;
  readonly events: readonly NoticeKind[];
  /** Of one attempt. */
  readonly timeoutMs: number;
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

export function writeSpec(path: string, spec: Spec, env: Environment): void {
  const argv = redact(spec.agent.argv, env);
  const text = JSON.stringify({ ...spec, agent: { ...spec.agent, argv } }, null, 2);
  replaceFile(path, `${text}\n`, { flush: true, mode: PRIVATE_FILE });
}

/** An absolute path that the system could open. */
export const absolutePath: Rule = rule(
  'an absolute path',
  (value) =>
    typeof value === 'string' && value.length <= MAX_PATH && isAbsolute(value) && !value.includes('\0'),
);
const MAX_PATH = 4096;

export const loopNameRule: Rule = rule(
  'the name of a loop',
  (value) => typeof value === 'string' && problemWithName(value) === null,
);

/** The name with a suffix. It becomes a part of file names, git refs and the markers by which processes are found. */
export const loopId: Rule = rule(
  'the id of a loop',
  (value) => typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(value),
);

export const taskIds: Rule = fields({
  project: shortText(1000),
  task: shortText(1000),
} satisfies Record<keyof TaskIds, Rule>);

const word = shortText(2 ** 20);
const variables = table(word);

const worktree = fields({
  path: absolutePath,
  branch: shortText(1000),
  from: nullable(shortText(1000)),
  folder: absolutePath,
} satisfies Record<keyof Worktree, Rule>);

const tmuxName = rule(
  'a name of letters, digits, "-" and "_"',
  (value) => typeof value === 'string' && isTmuxName(value),
);

const window = fields({
  socket: optional(tmuxName),
  session: optional(tmuxName),
} satisfies Record<keyof TmuxWindow, Rule>);

const agent = fields({
  kind: shortText(100),
  argv: list(word),
  model: optional(shortText(1000)),
  promptVia: optional(oneOf(['stdin', 'file', 'argument'])),
  env: optional(variables),
  given: optional(list(shortText(1000))),
  drop: optional(list(shortText(1000))),
} satisfies Record<keyof Spec['agent'], Rule>);

const notice = fields({
  name: shortText(1000),
  kind: oneOf(['address', 'command', ...NOTICE_PLACES]),
  variable: optional(shortText(1000)),
  keyVariable: optional(shortText(1000)),
  command: optional(word),
  // Another version may know others, which this one does not send.
  events: list(shortText(100)),
  timeoutMs: whole(1),
} satisfies Record<keyof NoticeTarget, Rule>);

const prompt = anyOf('a text or the path of a file', [
  fields({ text: string, spec: optional(absolutePath) }),
  fields({ file: absolutePath }),
]);

export const parentRun: Rule = fields({
  run: shortText(1000),
  folder: absolutePath,
  depth: optional(whole(1)),
} satisfies Record<keyof ParentRun, Rule>);

export const SPEC: Rule = fields({
  version: rule('1', (value) => value === 1),
  id: loopId,
  name: loopNameRule,
  workspace: absolutePath,
  task: optional(taskIds),
  movedFrom: optional(list(absolutePath)),
  created: shortText(100),
  agent,
  prompt,
  place: optional(oneOf(['foreground', 'background', 'session'])),
  session: optional(shortText(1000)),
  tags: optional(list(shortText(1000))),
  worktree: optional(worktree),
  window: optional(window),
  notices: optional(list(notice)),
  parent: nullable(parentRun),
  family: optional(fields({ root: loopId, payer: loopId } satisfies Record<keyof FamilyPlace, Rule>)),
} satisfies Record<keyof Spec, Rule>);

/** The environment that a loop was started with. */
export const SAVED_ENVIRONMENT: Rule = fields({
  env: variables,
  argv: list(word),
  umask: rule('a umask', (value) => Number.isInteger(value) && isUmask(Number(value))),
});

function isUmask(value: number): boolean {
  return value >= 0 && value <= 0o777;
}
