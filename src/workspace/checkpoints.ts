/** Records the tree of a loop after each iteration, and makes the diff since the start for prompts. */
import { treeOf } from '../home/spec.ts';
import { hideSecrets, masked } from '../loop/secrets.ts';
import type { Taken, EffectOf } from '../engine/ports.ts';
import { diffSince } from '../git/diff.ts';
import { fingerprint } from '../git/fingerprint.ts';
import { isInRepository } from '../git/location.ts';
import { takeCheckpoint } from '../git/records.ts';
import { fingerprintOfSeen } from '../git/seen-tree.ts';
import type { SeenTree } from '../git/tree.ts';
import { scratchIn, topOf, utf8, type Repository } from '../git/git.ts';
import { tooLarge } from '../git/untracked.ts';
import { sizeText, shortList } from '../loop/counted.ts';
import type { Excerpt } from '../loop/excerpt.ts';
import type { Policy } from '../loop/policy.ts';
import { reasonOf } from '../user-error.ts';
import { bytesFor } from '../files/excerpts.ts';
import { checkMarker, type StartedLoop } from '../home/run-environment.ts';
import { checkpointIndex } from './loop-tree.ts';
import type { Packing } from '../git/pack-records.ts';
import { startRef } from './start.ts';
import { userGit } from './user-git.ts';
import { dropScratchIndex } from '../git/index-file.ts';
import { forgetLinks } from '../sandbox/git-links.ts';
import type { LoopFolder } from '../home/home.ts';
import type { Environment } from '../process/process.ts';

interface LoopInGit extends StartedLoop {
  /** The current policy. */
  readonly policy: () => Policy;
  readonly say: (line: string) => void;
}

interface CheckpointedLoop extends LoopInGit {
  readonly packing: Packing;
}

/** Records the tree, as it was `seen` just now or as it is. A failure is reported and does not end the loop; null when interrupted. */
export async function checkpoint(
  loop: CheckpointedLoop,
  { iteration, key, fingerprint: isWanted }: EffectOf<'checkpoint'>,
  interrupt: AbortSignal,
  seen: SeenTree | null = null,
): Promise<Taken | null> {
  const { spec, env } = loop;
  const { name, value } = checkMarker(spec, key);
  const repository = repositoryOf(loop);
  const marked = { ...repository, env: { ...repository.env, [name]: value }, interrupt };
  try {
    const what = seen ?? checkpointIndex(loop.folder);
    const { ref, fresh, ...recorded } = await takeCheckpoint(marked, spec, iteration, what);
    const found = isWanted ? await fingerprintNow(marked, recorded, env) : null;
    loop.packing.consider(repository);
    const { unread, tree } = recorded;
    const problems = [
      ...(unread.length === 0 ? [] : [unreadable(unread)]),
      ...(await leftOut(repository, fresh)),
    ];
    const error = problems.length === 0 ? null : hideSecrets(problems.join('; '), env);
    return { ref, error, tree, ...(found === null ? {} : { fingerprint: found }) };
  } catch (error) {
    return interrupt.aborted ? null : { ref: null, error: hideSecrets(reasonOf(error), env) };
  }
}

/** What a probe would find now (`loop-tree.ts`); null if git cannot say. */
async function fingerprintNow(
  repository: Repository,
  seen: SeenTree,
  env: Environment,
): Promise<string | null> {
  const byTree = await fingerprintOfSeen(repository, seen).catch(() => null);
  return byTree ?? fingerprint({ ...repository, env });
}

function unreadable(paths: readonly string[]): string {
  return `git cannot read ${shortList(paths, MAX_NAMES)}; make them readable, or add them to .gitignore`;
}

/** What to say of files that are left out; the paths are from the top of the repository. */
async function leftOut(repository: Repository, paths: readonly string[]): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const { maxFileBytes, maxTotalBytes } = repository;
  const large = tooLarge(await topOf(repository), paths, maxFileBytes);
  const others = paths.filter((path) => !large.includes(path));
  const together = `the largest of untracked files that take more than ${sizeText(maxTotalBytes ?? 0)} together`;
  return [
    ...leftOutAs(large, `larger than ${sizeText(maxFileBytes ?? 0)}`, '--checkpoint-max-file'),
    ...leftOutAs(others, together, '--checkpoint-max-total'),
  ];
}

function leftOutAs(paths: readonly string[], why: string, limit: string): readonly string[] {
  const what = `left out of checkpoints and commits, ${why}: ${shortList(paths.map(utf8), MAX_NAMES)}`;
  return paths.length === 0 ? [] : [`${what}; add them to .gitignore, or raise the limit with ${limit}`];
}

const MAX_NAMES = 3;

/** The diff since the start, cut for a prompt and without secrets; empty if there is none. */
export async function diffForPrompt(loop: LoopInGit, excerpt: Excerpt): Promise<string> {
  const { spec, folder, env } = loop;
  if (!isInRepository(treeOf(spec))) return '';
  try {
    const scratch = scratchIn(folder.path, 'diff');
    const diff = await diffSince(repositoryOf(loop), startRef(spec), { scratch, bytes: bytesFor(excerpt) });
    return masked(diff.toString('utf8'), env);
  } catch {
    return '';
  }
}

function repositoryOf({ spec, env, policy, say }: LoopInGit): Repository {
  return userGit(policy(), treeOf(spec), env, say);
}

/** Ends what checkpoints have left for the next one; call when the loop is no longer driven. */
export function endCheckpoints(loop: {
  readonly folder: LoopFolder;
  readonly packing: Packing;
  /** Why its driver has stopped; undefined after an error. */
  readonly why: 'ended' | 'paused' | 'left' | 'lost' | undefined;
}): Promise<void> {
  // Otherwise, its agent may still run.
  if (loop.why === 'ended' || loop.why === 'paused') forgetLinks(loop.folder.path);
  dropScratchIndex(checkpointIndex(loop.folder));
  return loop.packing.end();
}
