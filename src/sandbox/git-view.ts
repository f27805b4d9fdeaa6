/**
 * The view of the machine that Ralph's git has where an agent in a sandbox can write: that agent's view without its own files, with
 * one folder for a scratch index. Whatever a repository makes git run or write then reaches no more than the agent did.
 *
 * 1. It holds for every loop and command, sandboxed or not, wherever a sandboxed loop that still exists can write.
 * 2. It is made anew for each git, because files that it covers may have appeared.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { commonFolder, type Enclose, type Repository } from '../git/git.ts';
import type { SandboxPolicy } from '../loop/policy.ts';
import { stateFolder } from '../home/state-folder.ts';
import { withoutSockets } from './environment.ts';
import { workingProbe, wrapperOf } from './wrapper.ts';
import { placesOf, sees, type View } from './sandbox.ts';
import { viewOf } from './view.ts';
import { join } from 'node:path';
import { namesIn, PRIVATE_FILE, PRIVATE_FOLDER, makeFolders, readJsonFile, isIn } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { fields, fits, flag, list, string } from '../loop/shape.ts';
import { loopsFolder } from '../home/home.ts';

/** Finds the views of a loop's git; `own` is the loop's sandbox, null for a loop or a command without one. */
export function enclosing(own: SandboxPolicy | null): Enclose {
  return async (repository, scratch) => {
    const policy = own ?? (await sandboxAt(repository));
    // Git cannot run in a folder that is gone.
    if (policy === null || !existsSync(repository.folder)) return null;
    const { env } = repository;
    const tree = realpathSync(repository.folder);
    const probe = await workingProbe(env, tree);
    const view = await viewAt(tree, { env, policy, scratch });
    return {
      wrapper: wrapperOf(probe, view, { policy, cwd: tree, graceMs: GRACE_MS }),
      env: withoutSockets(env),
    };
  };
}

async function viewAt(
  tree: string,
  {
    env,
    policy,
    scratch,
  }: Pick<Repository, 'env'> & { readonly policy: SandboxPolicy; readonly scratch: string | null },
): Promise<View> {
  const { view } = await viewOf({
    tree,
    workspace: tree,
    places: scratch === null ? [] : [scratch],
    state: stateFolder(),
    env,
    call: null,
    policy,
  });
  return view;
}

/** Whether a path that exists is hidden from a loop's git. */
export async function isHidden(
  own: SandboxPolicy | null,
  repository: Pick<Repository, 'folder' | 'env'>,
  path: string,
): Promise<boolean> {
  const policy = own ?? (await sandboxAt(repository));
  if (policy === null || !existsSync(path)) return false;
  const view = await viewAt(realpathSync(repository.folder), { ...repository, policy, scratch: null });
  return !sees(placesOf(view), realpathSync(path));
}

/** What a hook may take to end. */
const GRACE_MS = 2000;

/** What all sandboxes allow that can write a folder or the repository around it; null if none can. */
async function sandboxAt(repository: Pick<Repository, 'folder' | 'env'>): Promise<SandboxPolicy | null> {
  const [first, ...more] = await sandboxesAt(repository);
  return first === undefined ? null : more.reduce((all, { policy }) => stricter(all, policy), first.policy);
}

/** The sandboxes that can write a folder or the repository around it. */
export async function sandboxesAt({
  folder,
  env,
}: Pick<Repository, 'folder' | 'env'>): Promise<readonly SandboxedTree[]> {
  const trees = sandboxedTrees();
  if (trees.length === 0) return [];
  const common = await commonFolder({ command: ['git'], folder, env, enclose: null }).catch(() => null);
  return trees.filter((tree) => touches(tree, folder) || (common !== null && touches(tree, common)));
}

/** Where the agent of a sandboxed loop can write: a note in the state, made before it starts, until the loop is removed. */
interface SandboxedTree {
  readonly id: string;
  /** With absolute paths. */
  readonly policy: SandboxPolicy;
  /** The folders that its agent can write, and the git folders in them. */
  readonly trees: readonly string[];
}

export function noteSandbox(tree: SandboxedTree): void {
  const text = JSON.stringify(tree);
  const path = join(folderOfNotes(), `${tree.id}.json`);
  if (JSON.stringify(readJsonFile(path)) === text) return;
  makeFolders(folderOfNotes(), PRIVATE_FOLDER);
  replaceFile(path, text, { mode: PRIVATE_FILE });
}

/** The sandboxes of loops that still exist. */
function sandboxedTrees(): readonly SandboxedTree[] {
  const folder = folderOfNotes();
  const stamp = statSync(folder, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
  if (stamp === undefined) return [];
  if (known?.stamp !== stamp || known.folder !== folder) known = { folder, stamp, trees: readNotes(folder) };
  return known.trees.filter(({ id }) => existsSync(join(loopsFolder(), id)));
}

/** Whether a path is where an agent in this sandbox can write, or above. */
function touches({ trees }: SandboxedTree, path: string): boolean {
  return trees.some((tree) => isIn(path, tree) || isIn(tree, path));
}

/** What both allow. */
function stricter(one: SandboxPolicy, other: SandboxPolicy): SandboxPolicy {
  const both = [...one.write, ...other.write].filter((path) =>
    [one, other].every(({ write }) => write.some((folder) => isIn(path, folder))),
  );
  return {
    checks: one.checks || other.checks,
    write: [...new Set(both)],
    hide: [...new Set([...one.hide, ...other.hide])],
    network: one.network && other.network,
  };
}

let known: {
  readonly folder: string;
  readonly stamp: bigint;
  readonly trees: readonly SandboxedTree[];
} | null = null;

function readNotes(folder: string): readonly SandboxedTree[] {
  return namesIn(folder)
    .map((name) => readJsonFile(join(folder, name)))
    .filter(isTree);
}

function isTree(value: unknown): value is SandboxedTree {
  return fits(SHAPE, value);
}

const SHAPE = fields({
  id: string,
  policy: fields({ checks: flag, write: list(string), hide: list(string), network: flag }),
  trees: list(string),
});

function folderOfNotes(): string {
  return join(stateFolder(), 'sandboxed');
}
