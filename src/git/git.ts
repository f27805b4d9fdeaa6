/** Git, asked for what it knows. It is called by the user's own words for it, in the workspace. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { exec, type Execution } from '../process/exec.ts';

export interface Repository {
  /** The program, with options of the user's own: `git -c user.name=…`. */
  readonly command: readonly [string, ...string[]];
  /** The workspace: the repository's own folder, or one in it. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly interrupt?: AbortSignal;
}

/** Git would not do what was asked of it; the message is for people. */
export class GitError extends Error {}

/** What git answers, whether it likes the question or not. */
export async function ask(
  { command, folder, env, interrupt }: Repository,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
  how: Pick<Parameters<typeof exec>[1], 'input' | 'enoughBytes' | 'patienceMs'> = {},
): Promise<Execution> {
  const [program, ...options] = command;
  const answer = await exec([program, ...options, ...args], {
    cwd: folder,
    env: { ...env, ...more },
    patienceMs: PATIENCE_MS,
    maxBytes: MOST_BYTES,
    ...how,
    ...(interrupt === undefined ? {} : { interrupt }),
  });
  if (answer === null) throw new GitError(`${program} cannot be run in ${folder}`);
  return answer;
}

/** A big tree on a slow disk takes its time; an hour it never takes. */
const PATIENCE_MS = 30 * 60 * 1000;
/** Half a list of files would be worse than none. */
const MOST_BYTES = 2 ** 30;

/** What git prints, byte for byte in Latin 1: names of files are bytes. */
export async function tell(
  repository: Repository,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const answer = await ask(repository, args, more);
  if (answer.code !== 0) throw failed(args, answer);
  return answer.stdout.toString('latin1');
}

/** What `tell` gives, as text. */
export function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

/** The name of an object; null where there is none. */
export async function resolve(repository: Repository, what: string): Promise<string | null> {
  const answer = await ask(repository, ['rev-parse', '--verify', '--quiet', what]);
  // What git could not even look for is not known to be missing.
  if (answer.code !== 0 && answer.code !== 1) throw failed(['rev-parse'], answer);
  return answer.code === 0 ? answer.stdout.toString('latin1').trim() : null;
}

/** The top of the tree that the folder is in, byte for byte. */
export function topOf(repository: Repository): Promise<string> {
  return whereIs(repository, ['--show-toplevel']);
}

/** The way from the top to the folder, byte for byte: nothing, or a path with a slash at its end. */
export async function prefixOf(repository: Repository): Promise<string> {
  return (await tell(repository, ['rev-parse', '--show-prefix'])).replace(/\n$/, '');
}

/**
 * Where git has something, byte for byte. It is asked once for a folder, and again where that place is gone or the folder
 * has become a repository of its own meanwhile.
 */
export async function whereIs(repository: Repository, what: readonly string[]): Promise<string> {
  const { folder, env } = repository;
  const key = [folder, existsSync(join(folder, '.git')), env['GIT_DIR'] ?? '', ...what].join('\0');
  const known = places.get(key);
  if (known !== undefined && existsSync(Buffer.from(known, 'latin1'))) return known;
  const place = (await tell(repository, ['rev-parse', '--path-format=absolute', ...what])).replace(/\n$/, '');
  places.set(key, place);
  return place;
}

const places = new Map<string, string>();

export function failed(args: readonly string[], { code, stderr }: Execution): GitError {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('hint:'));
  const cause = lines.findIndex((line) => /^(?:fatal|error):/.test(line));
  const words = (cause < 0 ? lines.slice(-3) : lines.slice(cause, cause + 3)).join('; ');
  return new GitError(
    `git ${subcommandIn(args)} failed: ${words === '' ? `exit code ${code ?? 'unknown'}` : words}`,
  );
}

/** The first word that is neither an option nor the value of one. */
function subcommandIn(args: readonly string[]): string {
  const isValue = (index: number): boolean => /^-[cC]$/.test(args[index - 1] ?? '');
  return args.find((word, index) => !word.startsWith('-') && !isValue(index)) ?? '';
}

/** The environment of a git that must not ask anybody anything, and leaves nobody behind. */
export function quietGit(env: Readonly<Record<string, string>>): Record<string, string> {
  const quiet: Record<string, string> = {
    ...env,
    GIT_TERMINAL_PROMPT: '0',
    GCM_INTERACTIVE: 'never',
    GIT_EDITOR: ':',
    GIT_SEQUENCE_EDITOR: ':',
    GIT_MERGE_AUTOEDIT: 'no',
  };
  for (const name of PATHSPECS) delete quiet[name];
  // What tidies up in the background would be ended with the command that started it, every time anew.
  return configured(quiet, { 'gc.autoDetach': 'false', 'maintenance.autoDetach': 'false' });
}

/** The environment of a git with settings of our own. */
export function configured(
  env: Readonly<Record<string, string>>,
  settings: Readonly<Record<string, string>>,
): Record<string, string> {
  const own: Record<string, string> = { ...env };
  let count = Number(env['GIT_CONFIG_COUNT'] ?? 0) || 0;
  for (const [key, value] of Object.entries(settings)) {
    own[`GIT_CONFIG_KEY_${count}`] = key;
    own[`GIT_CONFIG_VALUE_${count}`] = value;
    count++;
  }
  return { ...own, GIT_CONFIG_COUNT: String(count) };
}

/** They change what our own names of files mean. */
const PATHSPECS = [
  'GIT_LITERAL_PATHSPECS',
  'GIT_GLOB_PATHSPECS',
  'GIT_NOGLOB_PATHSPECS',
  'GIT_ICASE_PATHSPECS',
];
