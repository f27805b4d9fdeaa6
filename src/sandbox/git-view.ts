/**
 * The view of the machine that Ralph's git has where an agent in a sandbox can write: that agent's view without its own files, with
 * one folder for a scratch index. Whatever a repository makes git run or write then reaches no more than the agent did.
 *
 * 1. It holds for every loop and command, sandboxed or not, wherever a sandboxed loop that still exists can write.
 * 2. It is made anew for each git, because files that it covers may have appeared.
 */
import { existsSync, realpathSync } from 'node:fs';
import { commonFolder, type Enclose, type Repository } from '../git/git.ts';
import type { SandboxPolicy } from '../loop/policy.ts';
import { stateFolder } from '../store/state-folder.ts';
import { withoutSockets } from './environment.ts';
import { workingProbe, wrapperOf } from './loop-sandbox.ts';
import { placesOf, sees, type View } from './sandbox.ts';
import { sandboxedTrees, stricter, touches, type SandboxedTree } from './sandboxed-trees.ts';
import { viewOf } from './view.ts';

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
