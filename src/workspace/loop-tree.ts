/** What is seen of a loop's files after a run: one tree serves the fingerprint, the commit and the checkpoint, if nothing changes. */
import { fingerprint } from '../git/fingerprint.ts';
import type { Difference } from '../git/differences.ts';
import { scratchIn, type Repository } from '../git/git.ts';
import { GitError } from '../git/git-error.ts';
import { isInRepository } from '../git/location.ts';
import { fingerprintOfSeen, seeTree } from '../git/seen-tree.ts';
import type { SeenTree } from '../git/tree.ts';
import type { Policy } from '../loop/policy.ts';
import { checkMarker, type StartedLoop } from '../home/run-environment.ts';
import { treeOf } from '../home/spec.ts';
import { enclosing } from '../sandbox/git-view.ts';
import { userGit } from './user-git.ts';

export class LoopTree {
  readonly #loop: TreeSpec;
  #seen: Seen | null = null;

  constructor(loop: TreeSpec) {
    this.#loop = loop;
  }

  /** The fingerprint of the files after an iteration; null outside of a repository. */
  async fingerprint(iteration: number, interrupt: AbortSignal): Promise<string | null> {
    const { spec, env, policy } = this.#loop;
    this.forget();
    const folder = treeOf(spec);
    const byTree =
      policy().checkpoint && isInRepository(folder) ? await this.#byTree(iteration, interrupt) : null;
    return (
      byTree ??
      (interrupt.aborted ? null : fingerprint({ folder, env, enclose: enclosing(policy().sandbox) }))
    );
  }

  async #byTree(iteration: number, interrupt: AbortSignal): Promise<string | null> {
    const { spec, folder, env, policy, say } = this.#loop;
    const repository = userGit(policy(), treeOf(spec), env, say);
    const index = checkpointIndex(folder);
    // An owner that takes over ends what a dead one has left of the checkpoint.
    const { name, value } = checkMarker(spec, `checkpoint:${iteration}`);
    const marked = { ...repository, env: { ...repository.env, [name]: value }, interrupt };
    try {
      const seen = await seeTree(marked, index);
      this.#keep(seen);
      return await fingerprintOfSeen(marked, seen);
    } catch (error) {
      // The checkpoint will report it.
      if (error instanceof GitError) return null;
      throw error;
    }
  }

  /** Looks again, after checks. */
  async see(repository: Repository): Promise<SeenTree> {
    this.forget();
    const tree = await seeTree(repository, checkpointIndex(this.#loop.folder));
    this.#keep(tree);
    return tree;
  }

  #keep(tree: SeenTree): void {
    this.#seen = { ...tree, changes: null, at: performance.now() };
  }

  /** Adds what was found out about that tree, or what has changed but for files. */
  learn(more: Partial<Seen>): void {
    if (this.#seen !== null) this.#seen = { ...this.#seen, ...more };
  }

  /** The tree, if it was seen just now and nothing that Ralph runs can have changed a file since. */
  get seen(): Seen | null {
    return this.#seen !== null && performance.now() - this.#seen.at < MAX_AGE_MS ? this.#seen : null;
  }

  /** The same, for the last use of it. */
  take(): SeenTree | null {
    const { seen } = this;
    this.forget();
    return seen;
  }

  /** Call before something that may change files. */
  forget(): void {
    this.#seen = null;
  }
}

interface Seen extends SeenTree {
  /** What is to be committed; null if that is not known. */
  readonly changes: readonly Difference[] | null;
  readonly at: number;
}

interface TreeSpec extends StartedLoop {
  /** The current policy. */
  readonly policy: () => Policy;
  readonly say: (line: string) => void;
}

/** A person may change files at any time. */
const MAX_AGE_MS = 1000;

/** The index of the checkpoints of a loop. */
export function checkpointIndex({ path }: StartedLoop['folder']): string {
  return scratchIn(path, 'checkpoint');
}
