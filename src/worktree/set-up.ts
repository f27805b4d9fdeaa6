/** What makes a fresh worktree fit to work in: the user's own commands, each behind the same shim as a check. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkSlug } from '../checks/slug.ts';
import type { LoopFolder } from '../store/store.ts';
import type { Spec } from '../store/spec.ts';
import { GitError } from '../git/git.ts';
import { changedFiles, recordSetUpTree, type SetUpTree } from '../git/work.ts';
import type { Policy } from '../loop/policy.ts';
import { runLogged } from '../process/logged.ts';
import { processes } from '../process/process.ts';
import type { Marker } from '../process/process-table.ts';
import { lastLines } from '../store/excerpts.ts';
import { masked } from '../store/secrets.ts';
import { gitIn } from '../scm/git.ts';

/** Whether a loop that is about to begin has something to set up. */
export function wantsSetUp({ worktree }: Spec, policy: Policy): boolean {
  return worktree !== undefined && policy.worktree.setup.length > 0;
}

/** Whether it was set up; where that is not known for sure it is done again. */
export function isSetUp(folder: LoopFolder): boolean {
  return existsSync(join(setUpFolder(folder), 'done'));
}

export function noteSetUp(folder: LoopFolder): void {
  mkdirSync(setUpFolder(folder), { recursive: true });
  writeFileSync(join(setUpFolder(folder), 'done'), '');
}

export function setUpFolder(folder: LoopFolder): string {
  return join(folder.path, 'setup');
}

/** Looks at a tree before its set-up, and puts down afterwards what that has left there, unless others had a hand in it. */
export async function watchSetUp(
  { spec, folder }: { readonly spec: Spec; readonly folder: LoopFolder },
  env: Readonly<Record<string, string>>,
): Promise<() => Promise<void>> {
  const repository = gitIn(spec.worktree?.path ?? spec.workspace, env);
  const known = readSetUpTree({ folder });
  const isClean = await orNull(async () => (await changedFiles(repository, { left: known })).length === 0);
  return async () => {
    const left = isClean === true ? await orNull(() => recordSetUpTree(repository)) : null;
    mkdirSync(setUpFolder(folder), { recursive: true });
    writeFileSync(leftFile(folder), `${JSON.stringify(left)}\n`);
  };
}

/** What is not known is taken for somebody's work. */
async function orNull<T>(look: () => Promise<T>): Promise<T | null> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

function leftFile(folder: LoopFolder): string {
  return join(setUpFolder(folder), 'left.json');
}

/** How a loop's set-up has left the tree; null where that is not known. */
export function readSetUpTree({ folder }: { readonly folder: LoopFolder }): SetUpTree | null {
  try {
    const left: unknown = JSON.parse(readFileSync(leftFile(folder), 'utf8'));
    if (typeof left !== 'object' || left === null || !('tree' in left) || !('base' in left)) return null;
    return { tree: String(left.tree), base: String(left.base) };
  } catch {
    return null;
  }
}

/** Runs the commands one after the other, until one fails. */
export async function setUp(
  { commands, timeoutMs, logs, ...where }: SetUp,
  say: (line: string) => void,
  interrupt: AbortSignal,
): Promise<SetUpEnding> {
  for (const [index, command] of commands.entries()) {
    const log = join(logs, `${checkSlug(commands, index)}.log`);
    say(`set-up started: ${command}`);
    const spec = { ...where, argv: ['/bin/sh', '-c', command] as const, log, timeoutMs };
    // oxlint-disable-next-line no-await-in-loop -- one after the other is what was asked for
    const result = await runLogged(spec, processes, interrupt);
    if (result === null) return 'interrupted';
    const took = `${(result.durationMs / 1000).toFixed(1)}s`;
    if (result.code !== 0) {
      const how = result.timedOut
        ? `no end after ${(timeoutMs ?? 0) / 1000} s`
        : `exit code ${result.code ?? 'unknown'}`;
      const words = masked(lastLines(log, 5), where.env);
      return {
        failed: `set-up failed: ${command} (${how})${words === '' ? '' : `: ${words}`} — ${log}; with other set-up commands in the settings it has to begin anew: --fresh`,
      };
    }
    say(`set-up done: ${command} (${took})`);
  }
  return 'done';
}

export interface SetUp {
  readonly commands: readonly string[];
  readonly timeoutMs: number | null;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly marker: Marker;
  readonly graceMs: number;
  /** The folder of their logs. */
  readonly logs: string;
}

export type SetUpEnding = 'done' | 'interrupted' | { readonly failed: string };
