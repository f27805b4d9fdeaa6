/** The tree of a loop after each iteration, and what has become of it since the start: as git has it on record. */
import { join } from 'node:path';
import type { LoopFolder } from '../store/store.ts';
import { treeOf, type Spec } from '../store/spec.ts';
import { hideSecrets } from '../store/secrets.ts';
import type { Taken, EffectOf } from '../engine/ports.ts';
import { diffSince } from '../git/diff.ts';
import { isInRepository } from '../git/fingerprint.ts';
import { takeCheckpoint } from '../git/records.ts';
import type { Repository } from '../git/git.ts';
import type { Excerpt } from '../loop/excerpt.ts';
import type { Policy } from '../loop/policy.ts';
import { reasonOf } from '../user-error.ts';
import { bytesFor, fewOf } from '../store/excerpts.ts';
import { checkMarker } from '../store/run-environment.ts';
import { gitOf, startOf } from './start.ts';
import { masked } from '../store/secrets.ts';

interface LoopInGit {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  /** Of whoever started the loop. */
  readonly env: Readonly<Record<string, string>>;
  /** As it is now. */
  readonly policy: () => Policy;
}

/** Puts the tree on record; whatever goes wrong ends nothing. */
export async function checkpoint(
  loop: LoopInGit,
  { iteration, key }: EffectOf<'checkpoint'>,
  interrupt: AbortSignal,
): Promise<Taken | null> {
  const { spec, folder, env } = loop;
  const { name, value } = checkMarker(spec, key);
  const repository = repositoryOf(loop);
  const marked = { ...repository, env: { ...repository.env, [name]: value }, interrupt };
  try {
    const scratch = join(folder.path, 'checkpoint-index');
    const { ref, unread } = await takeCheckpoint(marked, spec, iteration, scratch);
    return { ref, error: unread.length === 0 ? null : hideSecrets(unreadable(unread), env) };
  } catch (error) {
    return interrupt.aborted ? null : { ref: null, error: hideSecrets(reasonOf(error), env) };
  }
}

function unreadable(paths: readonly string[]): string {
  return `git may not read ${fewOf(paths, MOST_NAMES)}; what it need not have on record, let it ignore (.gitignore)`;
}

const MOST_NAMES = 3;

/** What has changed since the start, for a prompt: as much of it as is wanted, without secrets; nothing where it is not known. */
export async function diffForPrompt(loop: LoopInGit, excerpt: Excerpt): Promise<string> {
  const { spec, folder, env } = loop;
  if (!isInRepository(treeOf(spec))) return '';
  try {
    const scratch = join(folder.path, 'diff-index');
    const diff = await diffSince(repositoryOf(loop), startOf(spec), { scratch, bytes: bytesFor(excerpt) });
    return masked(diff.toString('utf8'), env);
  } catch {
    return '';
  }
}

function repositoryOf({ spec, env, policy }: LoopInGit): Repository {
  return gitOf(policy(), treeOf(spec), env);
}
