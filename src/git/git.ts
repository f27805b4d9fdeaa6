/**
 * Runs git. Callers name the program as the user configured it (`git -c user.name=…`) and the folder to run it in.
 *
 * 1. The repository's configuration cannot make a command of Ralph run a program: no hook, no file system monitor, no
 *    signature check, no fetch of missing objects. Only what a person would do with git themselves (`as: 'user'`: commits
 *    and merges) runs with their hooks, signatures and merge drivers. Filters are the exception, because they define what git records;
 *    those of nested repositories are switched off (`nested-filters.ts`).
 * 2. Where an agent in a sandbox can write the repository, git runs in a view of its own (`enclose`), in which it reaches no more
 *    than that agent: a link, a hook or a filter leads nowhere else. `outside` (links.ts) says what runs without one.
 * 3. An index that a command names must be there: git takes a missing one for an empty one, and a commit of it deletes all.
 * 4. Output is decoded as Latin-1, one character per byte, because file names are bytes; `utf8` converts it for people.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { exec, type Execution } from '../process/exec.ts';
import { findCommand } from '../process/command.ts';
import { wrappedShort, type Wrapper } from '../process/sandboxed.ts';
import { inQuotes } from '../loop/shell-quote.ts';
import { GitError, GitMissing } from './git-error.ts';
import type { Environment } from '../process/process.ts';

export { GitError };

export interface Repository {
  /** The program and the user's own options: `git -c user.name=…`. */
  readonly command: readonly [string, ...string[]];
  /** The workspace: the top of the repository, or a folder in it. */
  readonly folder: string;
  readonly env: Environment;
  readonly interrupt?: AbortSignal;
  /** Files that git does not track and that are larger are left out of records; null or absent for none. */
  readonly maxFileBytes?: number | null;
  /** While all such files together are larger, the largest of them are left out, too; null or absent for never. */
  readonly maxTotalBytes?: number | null;
  /** Tells a person what takes long. */
  readonly say?: ((line: string) => void) | undefined;
  /** Finds the view that its gits run in; null for none, whatever has written there. */
  readonly enclose: Enclose | null;
}

/** The view for one git, with a folder for a scratch index; null where no sandboxed agent can write. */
export type Enclose = (
  repository: Pick<Repository, 'folder' | 'env'>,
  scratch: string | null,
) => Promise<Enclosure | null>;

export interface Enclosure {
  readonly wrapper: Wrapper;
  readonly env: Environment;
}

/** The view for a command with this environment; throws if the index that it names is missing. */
export async function enclosure(repository: Repository, env: Environment): Promise<Enclosure | null> {
  const index = env['GIT_INDEX_FILE'];
  requireIndex(index);
  return viewFor(repository, env, index);
}

function requireIndex(index: string | undefined): void {
  if (index !== undefined && !existsSync(index)) throw new GitError(`the index ${index} is missing`);
}

async function viewFor(
  { folder, enclose }: Repository,
  env: Environment,
  index: string | undefined,
): Promise<Enclosure | null> {
  if (enclose === null) return null;
  if (index !== undefined && !SCRATCH_FOLDER.test(basename(dirname(index))))
    throw new GitError(`${index} is in no folder of its own`);
  return enclose({ folder, env }, index === undefined ? null : dirname(index));
}

/** Where a scratch index is: the view of a git has the whole folder. */
export function scratchIn(folder: string, name: string): string {
  return join(folder, 'scratch', name);
}

const SCRATCH_FOLDER = /^(?:scratch|ralph-index-.*)$/;

/** Runs git and returns its result, whatever the exit code. */
export async function execGit(
  repository: Repository,
  args: readonly string[],
  extraEnv: Environment = {},
  { as = 'ralph', ...options }: GitOptions = {},
): Promise<Execution> {
  const isShort = as === 'ralph' && options.isBackground !== true;
  const env = { ...extraEnv, ...(as === 'ralph' ? NO_FETCH : {}) };
  const index = extraEnv['GIT_INDEX_FILE'];
  if (!args.includes('read-tree')) requireIndex(index);
  return run(repository, guarded(repository, args, as), env, { isShort, index, ...options });
}

/**
 * Runs several gits, one after the other, in one line of a shell, which saves most of the time that starting them takes.
 * Returns the answer of each command, whatever its exit code.
 *
 * A command is made with `git(args, variables)`, which guards one git as `execGit` does and quotes it. Commands share
 * variables of the shell, and `input` is for those that read it.
 */
export async function gitLine(
  repository: Repository,
  commands: (git: OneGit) => readonly string[],
  { input }: Pick<GitOptions, 'input'> = {},
): Promise<readonly LineAnswer[]> {
  const mark = randomUUID();
  let index: string | undefined;
  const parts = commands((args, variables = {}) => {
    index ??= variables['GIT_INDEX_FILE'];
    const set = Object.entries(variables).map(([name, value]) => `${name}=${inQuotes(value)}`);
    return [...set, ...guarded(repository, args, 'ralph').map(inQuotes)].join(' ');
  });
  const end = `printf '\\n${mark} %d\\n' $?; printf '\\n${mark} \\n' >&2`;
  const line = parts.map((part) => `${part}; ${end}`).join('\n');
  requireIndex(index);
  const options = { isShort: true, index, ...(input === undefined ? {} : { input }) };
  const { stdout, stderr } = await run(repository, ['/bin/sh', '-c', line], NO_FETCH, options);
  const [outputs, errors] = [stdout.toString('latin1'), stderr].map((text) => text.split(`\n${mark} `));
  return parts.map((_, at) => {
    // Each piece but the first starts with the rest of the line that ended the one before it.
    const [before = '', after] = [outputs?.[at], outputs?.[at + 1]];
    const code = after === undefined ? null : Number.parseInt(after, 10);
    if (code === NOT_FOUND || code === NOT_EXECUTABLE) throw whyNot(repository);
    return {
      code,
      stdout: at === 0 ? before : before.slice(before.indexOf('\n') + 1),
      stderr: (errors?.[at] ?? '').slice(at === 0 ? 0 : 1),
    };
  });
}

/** Makes the command for one git, with more variables in its environment. */
export type OneGit = (args: readonly string[], variables?: Environment) => string;

/** Stdout is in Latin-1. The code is null if the line was interrupted. */
export interface LineAnswer extends Pick<Execution, 'code' | 'stderr'> {
  readonly stdout: string;
}

/** What a command of a line has printed; throws a `GitError` unless it ended with one of these codes. */
export function outputIn(
  answer: LineAnswer | undefined,
  command: string,
  codes: readonly number[] = [0],
): string {
  const { code, stdout, stderr } = answer ?? { code: null, stdout: '', stderr: '' };
  if (code === null || !codes.includes(code)) throw gitFailure([command], { code, stderr });
  return stdout;
}

/** The exit codes of a shell that cannot run a program. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** The command line of a git that runs no program which the repository's configuration names. */
export function guarded(
  { command: [program, ...options] }: Pick<Repository, 'command'>,
  args: readonly string[],
  as: 'ralph' | 'user',
): readonly [string, ...string[]] {
  return [program, ...options, ...NO_PROGRAMS, ...(as === 'ralph' ? NO_HOOKS : []), ...args];
}

async function run(
  repository: Repository,
  argv: readonly [string, ...string[]],
  env: Environment,
  { index, ...options }: Partial<Parameters<typeof exec>[1]> & { readonly index: string | undefined },
): Promise<Execution> {
  const { folder, interrupt, command } = repository;
  const all = { ...repository.env, ...env };
  const view = await viewFor(repository, all, index);
  // In a view, it would be bubblewrap that fails.
  if (view !== null && findCommand(command[0], all['PATH'] ?? '', folder).found === 'nothing')
    throw whyNot(repository);
  const answer = await exec(view === null ? argv : wrappedShort(view.wrapper, argv), {
    cwd: folder,
    env: view?.env ?? all,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    ...options,
    // The mounts of a shell that stays would be those of an earlier moment.
    ...(view === null ? {} : { isShort: false }),
    ...(interrupt === undefined ? {} : { interrupt }),
  });
  if (answer === null) throw whyNot(repository);
  return answer;
}

/** Why the program could not be started. */
function whyNot({ command: [program], folder, env }: Repository): GitError {
  const { found } = findCommand(program, env['PATH'] ?? '', folder);
  return found === 'nothing' ? new GitMissing(program) : new GitError(`cannot run ${program} in ${folder}`);
}

export interface GitOptions extends Pick<
  Parameters<typeof exec>[1],
  'input' | 'stopAfterBytes' | 'timeoutMs' | 'isBackground'
> {
  /** Whose command it is; the user's runs with their hooks, signatures and merge drivers. */
  readonly as?: 'ralph' | 'user';
}

/** Keep the repository's configuration from running programs. They override the user's own options, which come before. */
const NO_PROGRAMS: readonly string[] = [
  '--no-pager',
  // Without `.git/HEAD`, git would take the workspace itself for a repository, with hooks and filters that an agent wrote.
  ...['core.fsmonitor=false', 'log.showSignature=false', 'safe.bareRepository=explicit'].flatMap(setting),
];

/** Keep hooks from running, and git from entering submodules. Git 2.54 and later also have hooks in the configuration. */
const NO_HOOKS: readonly string[] = [
  'core.hooksPath=/dev/null',
  'hook.reference-transaction.enabled=false',
  'hook.post-index-change.enabled=false',
  'hook.post-checkout.enabled=false',
  'submodule.recurse=false',
].flatMap(setting);

function setting(text: string): readonly string[] {
  return ['-c', text];
}

/** Allows no protocol: a partial clone would fetch missing objects with programs of its configuration. */
const NO_FETCH = { GIT_ALLOW_PROTOCOL: 'none', GIT_NO_LAZY_FETCH: '1' };

/** Generous, because a big tree on a slow disk takes minutes. */
const TIMEOUT_MS = 30 * 60 * 1000;
/** Generous, because a truncated list of files would be wrong. */
const MAX_BYTES = 2 ** 30;

/** Runs git and returns its stdout in Latin-1; throws a `GitError` unless it exits with 0. */
export async function gitOutput(
  repository: Repository,
  args: readonly string[],
  extraEnv: Environment = {},
): Promise<string> {
  const answer = await execGit(repository, args, extraEnv);
  if (answer.code !== 0) throw gitFailure(args, answer);
  return answer.stdout.toString('latin1');
}

/** Waits for two commands that run at the same time, also if one of them fails; the first one's error comes first. */
export async function bothOf<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return [await first, await second];
}

/** Decodes what `gitOutput` returns as UTF-8. */
export function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

/** A path in Latin-1 as the bytes that the file system has. */
export function bytes(latin1: string): Buffer {
  return Buffer.from(latin1, 'latin1');
}

/** The object id of a revision; null if it does not exist. */
export async function resolveRevision(repository: Repository, revision: string): Promise<string | null> {
  const answer = await execGit(repository, ['rev-parse', '--verify', '--quiet', revision]);
  // Any other exit code means that git could not look, which does not prove that the revision is missing.
  if (answer.code !== 0 && answer.code !== 1) throw gitFailure(['rev-parse'], answer);
  return answer.code === 0 ? answer.stdout.toString('latin1').trim() : null;
}

/** The top of the working tree that contains the folder, in Latin-1. */
export function topOf(repository: Repository): Promise<string> {
  return gitPath(repository, ['--show-toplevel']);
}

/** The git folder that all trees of the repository share. */
export async function commonFolder(repository: Repository): Promise<string> {
  return utf8(await gitPath(repository, ['--git-common-dir']));
}

/** The path from the top to the folder, in Latin-1: empty, or with a slash at its end. */
export async function prefixOf(repository: Repository): Promise<string> {
  return (await gitOutput(repository, ['rev-parse', '--show-prefix'])).replace(/\n$/, '');
}

/**
 * An absolute path that `git rev-parse` reports, in Latin-1. Cached per folder, until that path is gone or the folder
 * becomes a separate repository.
 */
export async function gitPath(repository: Repository, what: readonly string[]): Promise<string> {
  const { folder, env } = repository;
  const key = [folder, existsSync(join(folder, '.git')), env['GIT_DIR'] ?? '', ...what].join('\0');
  const known = knownPaths.get(key);
  if (known !== undefined && isStillThere(known, what)) return known;
  const asked = await gitOutput(repository, ['rev-parse', '--path-format=absolute', ...what]);
  const path = asked.replace(/\n$/, '');
  knownPaths.set(key, path);
  return path;
}

const knownPaths = new Map<string, string>();

/** There is no index before the first file is added, but there is HEAD beside its place. */
function isStillThere(path: string, what: readonly string[]): boolean {
  return isThere(path) || (what.at(-1) === 'index' && isThere(join(dirname(path), 'HEAD')));
}

function isThere(path: string): boolean {
  return existsSync(Buffer.from(path, 'latin1'));
}

/** The error for a failed command, with git's own explanation from stderr. */
export function gitFailure(
  args: readonly string[],
  { code, stderr }: Pick<Execution, 'code' | 'stderr'>,
): GitError {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('hint:'));
  const cause = lines.findIndex((line) => /^(?:fatal|error):/.test(line));
  const reason = (cause < 0 ? lines.slice(-3) : lines.slice(cause, cause + 3)).join('; ');
  return new GitError(
    `git ${subcommandIn(args)} failed: ${reason === '' ? `exit code ${code ?? 'unknown'}` : reason}`,
  );
}

/** The first argument that is neither an option nor the value of one. */
function subcommandIn(args: readonly string[]): string {
  const isValue = (index: number): boolean => /^-[cC]$/.test(args[index - 1] ?? '');
  return args.find((word, index) => !word.startsWith('-') && !isValue(index)) ?? '';
}

/** An environment in which git never prompts, opens no editor and starts no background maintenance. */
export function nonInteractiveEnv(env: Environment): Record<string, string> {
  const quiet: Record<string, string> = {
    ...env,
    GIT_TERMINAL_PROMPT: '0',
    GCM_INTERACTIVE: 'never',
    GIT_EDITOR: ':',
    GIT_SEQUENCE_EDITOR: ':',
    GIT_MERGE_AUTOEDIT: 'no',
  };
  for (const name of PATHSPEC_VARIABLES) delete quiet[name];
  // Detached maintenance would be killed with the command that started it, and start again with the next one.
  return withGitConfig(quiet, { 'gc.autoDetach': 'false', 'maintenance.autoDetach': 'false' });
}

/** Adds git settings to an environment. */
export function withGitConfig(env: Environment, settings: Environment): Record<string, string> {
  const result: Record<string, string> = { ...env };
  let count = Number(env['GIT_CONFIG_COUNT'] ?? 0) || 0;
  for (const [key, value] of Object.entries(settings)) {
    result[`GIT_CONFIG_KEY_${count}`] = key;
    result[`GIT_CONFIG_VALUE_${count}`] = value;
    count++;
  }
  return { ...result, GIT_CONFIG_COUNT: String(count) };
}

/** These would change the meaning of the pathspecs that Ralph passes. */
const PATHSPEC_VARIABLES = [
  'GIT_LITERAL_PATHSPECS',
  'GIT_GLOB_PATHSPECS',
  'GIT_NOGLOB_PATHSPECS',
  'GIT_ICASE_PATHSPECS',
];
