import { execGit, resolveRevision, type Repository } from './git.ts';
import { writeTree } from './tree.ts';
import type { Environment } from '../process/process.ts';

/**
 * The diff of everything below the workspace since a record, new files included, cut after `bytes`; empty if git fails.
 * It ignores the user's diff settings and runs no external diff or textconv program.
 */
export async function diffSince(
  repository: Repository,
  ref: string,
  { scratch, bytes }: { readonly scratch: string; readonly bytes: number },
): Promise<Buffer> {
  const start = await resolveRevision(repository, `${ref}^{tree}`);
  if (start === null) return EMPTY;
  const now = await writeTree(repository, scratch);
  const options = ['diff-tree', '-r', '-p', '-M', '--no-ext-diff', '--no-textconv', '--no-color'];
  const args = [...options, '--src-prefix=a/', '--dst-prefix=b/', start, now, '--', '.'];
  const answer = await execGit(repository, args, {}, { stopAfterBytes: bytes, timeoutMs: TIMEOUT_MS });
  return answer.code === 0 ? answer.stdout : EMPTY;
}

const EMPTY = Buffer.alloc(0);
const TIMEOUT_MS = 10_000;

/**
 * What keeps `git diff` on a terminal from running programs that the repository names: pagers, external diffs and text
 * converters. Those that the user has configured for themselves still run.
 */
interface DiffGuard {
  readonly options: readonly string[];
  readonly env: Environment;
}

export async function guardDiff(repository: Repository): Promise<DiffGuard> {
  const asked = ['config', '--show-scope', '--null', '--get-regexp', PROGRAMS];
  const { code, stdout } = await execGit(repository, asked);
  // Exit code 1 means that nothing is configured.
  if (code !== 0) return code === 1 ? { options: [], env: {} } : NO_PROGRAMS;
  const fields = stdout.toString('utf8').split('\0');
  const settings = fields.flatMap((scope, at) => {
    const [key = '', value = ''] = (fields[at + 1] ?? '').split(/\n(.*)/s);
    return at % 2 === 0 && scope !== '' ? [{ key, value, isUsers: !REPOSITORY_SCOPES.has(scope) }] : [];
  });
  const isNamed = (pattern: RegExp): boolean =>
    settings.some(({ key, isUsers }) => !isUsers && pattern.test(key));
  const pager = settings.findLast(({ key, isUsers }) => isUsers && PAGER.test(key))?.value;
  const { GIT_PAGER, PAGER: shown } = repository.env;
  return {
    options: [
      ...(isNamed(/^diff\..*(?:external|command)$/) ? ['--no-ext-diff'] : []),
      ...(isNamed(/^diff\..*textconv$/) ? ['--no-textconv'] : []),
    ],
    env: isNamed(PAGER) ? { GIT_PAGER: GIT_PAGER ?? pager ?? shown ?? 'less' } : {},
  };
}

/** For a git that cannot tell where a setting comes from (before 2.26). */
const NO_PROGRAMS: DiffGuard = { options: ['--no-ext-diff', '--no-textconv'], env: { GIT_PAGER: 'less' } };
const REPOSITORY_SCOPES: ReadonlySet<string> = new Set(['local', 'worktree']);
const PAGER = /^(?:core\.pager|pager\.diff)$/;
const PROGRAMS = String.raw`^(core\.pager|pager\.diff|diff\.external|diff\..*\.(command|textconv))$`;
