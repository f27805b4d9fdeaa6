import { readFileSync } from 'node:fs';
import { replaceFile } from './replace.ts';

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

/** Stands for a secret that is kept elsewhere. */
export const REDACTED = '<redacted>';

const SECRET_WORD = String.raw`(?:api[-_]?key|token(?!s)|secret|passw(?:or)?d|credential)`;
const SECRET_NAME = new RegExp(SECRET_WORD, 'i');
const SECRET_VALUE =
  /\b(?:Bearer|Basic)\s+[\w+/=.~-]{8,}|\b(?:sk|pk|ghp|gho|github_pat|glpat|xox[abp])[-_][\w-]{12,}|\bAKIA\w{12,}/;

/** The arguments without anything that looks like a secret or is one in the environment. */
export function redact(argv: readonly string[], env: Readonly<Record<string, string>>): readonly string[] {
  return argv.map((argument, index) => {
    if (secretIn(argument, env) !== null || SECRET_VALUE.test(argument)) return REDACTED;
    const [name = '', value] = argument.split('=', 2);
    if (value !== undefined && SECRET_NAME.test(name)) return `${name}=${REDACTED}`;
    const flag = argv[index - 1] ?? '';
    return flag.startsWith('-') && !flag.includes('=') && SECRET_NAME.test(flag) && !argument.startsWith('-')
      ? REDACTED
      : argument;
  });
}

/** A text without the values of secret variables. */
export function hideSecrets(text: string, env: Readonly<Record<string, string>>): string {
  let hidden = text;
  for (const [name, value] of Object.entries(env)) {
    if (value.length >= 8 && SECRET_NAME.test(name)) hidden = hidden.replaceAll(value, REDACTED);
  }
  return hidden;
}

const SECRET_VALUES = new RegExp(SECRET_VALUE, 'g');

/** A command without what looks like a secret, whoever's it is. */
export function hideKeys(text: string): string {
  return hideAssigned(text, SECRET_ASSIGNED);
}

/**
 * The same for code and for sentences: they are full of words like `token`, and only what stands behind them like a key
 * is one.
 */
export function hideLikelyKeys(text: string): string {
  return hideAssigned(text, KEY_ASSIGNED);
}

function hideAssigned(text: string, assigned: RegExp): string {
  return text
    .replaceAll(SECRET_VALUES, REDACTED)
    .replaceAll(URL_PASSWORD, (_, before: string) => `${before}${REDACTED}@`)
    .replaceAll(assigned, (_, name: string, between: string) => `${name}${between}${REDACTED}`);
}

/** `https://bob:secret@host`. */
const URL_PASSWORD = /(\w:\/\/[^\s/:@]*:)[^\s@]+@/g;

/** `--api-key abc`, `TOKEN=abc`, `password: abc`. A reference to a variable is no secret. */
const SECRET_ASSIGNED = new RegExp(
  String.raw`(${SECRET_WORD}[\w-]*)(["']?(?:\s*[=:]\s*|\s+)["']?)(?![\s$<"'(-])[^\s"'&;|)]{6,}`,
  'gi',
);

/** Letters and digits, and neither the name of something nor a call. */
const KEY_ASSIGNED = new RegExp(
  String.raw`(${SECRET_WORD}[\w-]*)(["']?\s*[=:]\s*["']?)(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])[\w+/-]{8,}(?![\w+/.([-])`,
  'gi',
);

/** Whether something stands in a text that can hardly be anything but a key. */
export function hasKey(text: string): boolean {
  return SECRET_VALUE.test(text);
}

/** The environment variable whose secret value stands in a text; null if there is none. */
export function secretIn(text: string, env: Readonly<Record<string, string>>): string | null {
  for (const [name, value] of Object.entries(env)) {
    if (value.length >= 8 && SECRET_NAME.test(name) && text.includes(value)) return name;
  }
  return null;
}
