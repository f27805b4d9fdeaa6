/**
 * The `commit` task with git, which may be killed at any moment and is then carried out again.
 *
 * How a commit is recovered after a crash:
 * 1. Before the commit, its folder has a note of HEAD, of the tree that the checks saw, and of the message.
 * 2. When the task is carried out again, a commit with that message on top of the noted HEAD is the one that was made.
 *    Only the user's index still has to be updated. Otherwise the same tree is committed again.
 * 3. A commit command that fails or is interrupted may have committed nevertheless, for instance if a post-commit hook
 *    failed. So the same search follows every failure.
 * 4. If no commit was made, the changes that were staged for it are taken out of the user's index. While another process
 *    holds the index this fails; then the next commit does it (`tidyIndex`).
 * 5. A git that was killed leaves its locks behind; they are removed before the next attempt (`git/left-lock.ts`).
 */
import { changesSince } from '../git/changes.ts';
import {
  cancelCommit,
  findAttemptedCommit,
  finishCommit,
  prepareCommit,
  readNote,
  type CommitPlan,
} from '../git/commit.ts';
import { differences, type Difference } from '../git/differences.ts';
import { GitError, scratchIn, utf8, type Repository } from '../git/git.ts';
import { LeftLocks } from '../git/left-lock.ts';
import { readCommit, type MadeCommit } from '../git/made-commit.ts';
import { headCommit } from '../git/refs.ts';
import { problemWith } from '../git/state.ts';
import { writeTree } from '../git/tree.ts';
import { shortList } from '../loop/counted.ts';
import { explainGitError } from './scm-spec.ts';
import type { Environment } from '../process/process.ts';

export interface GitCommitOrder {
  readonly repository: Repository & { readonly interrupt: AbortSignal };
  /** Where the attempt is noted. */
  readonly folder: string;
  /** The record of the loop's start. */
  readonly start: string;
  /** The commit message; null if the agent gave none. */
  readonly message: () => string | null;
  /** The changes in the tree that the checks saw, if they were looked for just now, with nothing in the way of a commit. */
  readonly changes: readonly Difference[] | null;
  /** Whether the agent ran after the checks, to write the message. */
  readonly isMessageByAgent: boolean;
  /** Runs git with these arguments and more variables. */
  readonly run: (
    args: readonly string[],
    env: Environment,
  ) => Promise<'done' | 'interrupted' | { readonly error: string }>;
}

export type GitCommitResult =
  | { readonly ending: 'done'; readonly made: MadeCommit; readonly warning: string | null }
  | { readonly ending: 'nothing'; readonly warning: string | null }
  | 'interrupted'
  | { readonly error: string };

/** Commits what the loop has changed, or finds the commit that an earlier attempt made. */
export async function commitWithGit(order: GitCommitOrder): Promise<GitCommitResult> {
  const locks = new LeftLocks(order.repository, order.folder);
  await locks.begin();
  const result = await attemptCommit(order);
  return result === 'interrupted' || !('error' in result)
    ? result
    : { error: await locks.explain(result.error) };
}

async function attemptCommit(order: GitCommitOrder): Promise<GitCommitResult> {
  const { repository, folder } = order;
  try {
    const earlier = await findAttemptedCommit(repository, folder);
    return earlier === null ? await commitChanges(order) : await finish(order, earlier, null);
  } catch (error) {
    await cancel(order);
    if (repository.interrupt.aborted) return 'interrupted';
    return { error: await explainGitError(error, repository) };
  }
}

async function commitChanges(order: GitCommitOrder): Promise<GitCommitResult> {
  const { repository, folder, start } = order;
  const note = readNote(folder);
  const tree = note?.tree ?? (await writeTree(repository, scratchIn(folder, 'tree')));
  const head = await headCommit(repository);
  const before = note === null ? head : note.head;
  if (order.changes !== null && head === before) return makeCommit(order, order.changes, null, { head });
  const changes = await changesSince(repository, { start, tree, head, before });
  const warning = await changedAfterChecks(order, tree);
  if (changes.length > 0) return makeCommit(order, changes, warning);
  // An agent that is asked for a message may commit by itself.
  await cancel(order);
  if (head === null || head === before) return { ending: 'nothing', warning };
  return { ending: 'done', made: await readCommit(repository, head), warning };
}

async function makeCommit(
  order: GitCommitOrder,
  changes: readonly Difference[],
  warning: string | null,
  known: Pick<CommitPlan, 'head'> = {},
): Promise<GitCommitResult> {
  const { repository, folder } = order;
  const message = order.message();
  if (message === null) return NO_MESSAGE;
  const problem = 'head' in known ? null : await problemWith(repository);
  if (problem !== null) return repository.interrupt.aborted ? 'interrupted' : { error: problem };
  const { args, env } = await prepareCommit(repository, changes, { folder, message, ...known });
  const ending = repository.interrupt.aborted ? 'interrupted' : await order.run(args, env);
  if (ending === 'done') return finish(order, 'HEAD', warning);
  const made = await findAttemptedCommit({ ...repository, interrupt: NEVER }, folder);
  if (made !== null) return ending === 'interrupted' ? ending : finish(order, made, warning);
  await cancel(order);
  return ending;
}

export const NO_MESSAGE = { error: 'agent did not provide a valid commit message' } as const;
const NEVER = new AbortController().signal;

/** Updates the user's index; a failure to do so is only a warning, because the commit exists. */
async function finish(
  { repository, folder }: GitCommitOrder,
  commit: string,
  warning: string | null,
): Promise<GitCommitResult> {
  const made = await readCommit({ ...repository, interrupt: NEVER }, commit);
  try {
    await finishCommit(repository, folder, made);
    return { ending: 'done', made, warning };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const failure = `committed ${made.commit.slice(0, 7)}, but could not update the index: ${error.message}`;
    return { ending: 'done', made, warning: failure };
  }
}

async function cancel({ repository, folder }: GitCommitOrder): Promise<void> {
  try {
    await cancelCommit(repository, folder);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
  }
}

/** Names the files that the agent changed after the checks, which are not committed. */
async function changedAfterChecks(
  { repository, folder, isMessageByAgent }: GitCommitOrder,
  tree: string,
): Promise<string | null> {
  if (!isMessageByAgent) return null;
  const now = await writeTree(repository, scratchIn(folder, 'tree'));
  const files = (await differences(repository, tree, now)).map(({ path }) => path);
  if (files.length === 0) return null;
  const names = shortList(files.map(utf8), MAX_NAMES);
  return `changed by the agent after the checks, while it wrote the commit message, and not committed: ${names}`;
}

const MAX_NAMES = 10;
