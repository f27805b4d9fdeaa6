/** Sets up a new worktree: runs the user's commands, each behind the same shim as a check. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { checkSlug } from '../checks/check.ts';
import type { LoopFolder } from '../home/home.ts';
import type { Spec } from '../home/spec.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER, makeFolders, readJsonFile } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { anyOf, fields, fits, oneOf } from '../loop/shape.ts';
import { objectId } from '../git/refs.ts';
import { GitError } from '../git/git-error.ts';
import { changedFiles, recordSetUpTree, type SetUpTree } from '../git/work.ts';
import type { Policy } from '../loop/policy.ts';
import { howEnded, runLogged } from '../process/logged.ts';
import type { Wrapper } from '../process/sandboxed.ts';
import { type Environment, processes } from '../process/process.ts';
import type { Marker } from '../process/process-table.ts';
import { lastLines } from '../files/excerpts.ts';
import { masked } from '../loop/secrets.ts';
import { gitIn } from './user-git.ts';

/** Whether a loop has a set-up. */
export function wantsSetUp({ worktree }: Spec, policy: Policy): boolean {
  return worktree !== undefined && policy.worktree.setup.length > 0;
}

/** Whether the set-up was completed; if it was killed, it runs again. */
export function isSetUp(folder: LoopFolder): boolean {
  return existsSync(join(setUpFolder(folder), 'done'));
}

export function noteSetUp(folder: LoopFolder): void {
  makeFolders(setUpFolder(folder), PRIVATE_FOLDER);
  replaceFile(join(setUpFolder(folder), 'done'), '', { mode: PRIVATE_FILE });
}

export function setUpFolder(folder: LoopFolder): string {
  return join(folder.path, 'setup');
}

/** Call before the set-up; the returned function records afterwards what it left, if the tree was clean before. */
export async function watchSetUp(
  { spec, folder }: { readonly spec: Spec; readonly folder: LoopFolder },
  env: Environment,
): Promise<() => Promise<void>> {
  const repository = gitIn(spec.worktree?.path ?? spec.workspace, env);
  const earlier = readSetUpTree({ folder });
  const isClean = await nullIfGitFails(
    async () => (await changedFiles(repository, { setUpTree: earlier })).length === 0,
  );
  return async () => {
    const setUpTree = isClean === true ? await nullIfGitFails(() => recordSetUpTree(repository)) : null;
    makeFolders(setUpFolder(folder), PRIVATE_FOLDER);
    replaceFile(setUpTreeFile(folder), `${JSON.stringify(setUpTree)}\n`, { mode: PRIVATE_FILE });
  };
}

/** Without a record, every file that the set-up left counts as work. */
async function nullIfGitFails<T>(look: () => Promise<T>): Promise<T | null> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

function setUpTreeFile(folder: LoopFolder): string {
  return join(setUpFolder(folder), 'left.json');
}

/** The tree after a loop's set-up; null if it was not recorded. */
export function readSetUpTree({ folder }: { readonly folder: LoopFolder }): SetUpTree | null {
  const value = readJsonFile(setUpTreeFile(folder));
  return isSetUpTree(value) ? value : null;
}

function isSetUpTree(value: unknown): value is SetUpTree {
  return fits(SET_UP_TREE, value);
}

const SET_UP_TREE = fields({
  tree: objectId,
  // Empty before the first commit.
  base: anyOf('the id of a commit or an empty text', [objectId, oneOf([''])]),
});

/** Runs the commands in order until one fails. */
export async function setUp(
  { commands, timeoutMs, maxBytes, logs, ...where }: SetUp,
  say: (line: string) => void,
  interrupt: AbortSignal,
): Promise<SetUpEnding> {
  for (const [index, command] of commands.entries()) {
    const log = join(logs, `${checkSlug(commands, index)}.log`);
    say(`set-up started: ${command}`);
    const spec = { ...where, argv: ['/bin/sh', '-c', command] as const, log, timeoutMs, maxBytes };
    // oxlint-disable-next-line no-await-in-loop -- commands run in order
    const result = await runLogged(spec, processes, interrupt);
    if (result === null) return 'interrupted';
    const took = `${(result.durationMs / 1000).toFixed(1)}s`;
    if (result.code !== 0) {
      const how = howEnded(result, spec);
      const output = masked(lastLines(log, 5), where.env);
      return {
        failed: `set-up failed: ${command} (${how})${output === '' ? '' : `: ${output}`} — ${log}; after changing the set-up commands in the settings, start over with: --fresh`,
      };
    }
    say(`set-up done: ${command} (${took})`);
  }
  return 'done';
}

export interface SetUp {
  readonly commands: readonly string[];
  readonly timeoutMs: number | null;
  /** The maximum output of each command; null is unlimited. */
  readonly maxBytes: number | null;
  readonly cwd: string;
  readonly env: Environment;
  readonly marker: Marker;
  readonly graceMs: number;
  /** Absent or null for none. */
  readonly sandbox?: Wrapper | null | undefined;
  /** The folder for the logs. */
  readonly logs: string;
}

export type SetUpEnding = 'done' | 'interrupted' | { readonly failed: string };
