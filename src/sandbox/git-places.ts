/** What of a repository's git folder a sandbox leaves writable, and what not: hooks and configuration run commands outside. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { foundAt, isTaken, namesIn, textOf, realPath, isIn } from '../files/files.ts';
import { execGit, type Repository } from '../git/git.ts';

/**
 * Asked outside of any view, which is made from the answer: `rev-parse` runs no program and writes nothing. `others` are folders that
 * the user has made writable: their repositories are kept like that of the workspace.
 */
export async function gitPlaces(
  repository: Omit<Repository, 'enclose'>,
  others: readonly string[] = [],
): Promise<GitPlaces> {
  const here = { ...repository, enclose: null };
  const [own, ...found] = await Promise.all([
    ownPlaces(here),
    ...reposIn(others).map((at) => keptOf(here, at)),
  ]);
  return {
    ...own,
    keep: [...own.keep, ...found.flatMap(({ keep }) => keep)],
    absent: [...own.absent, ...found.flatMap(({ absent }) => absent), ...others.flatMap(missingIn)],
    folders: [...own.folders, ...found.flatMap(({ folders }) => folders)],
    gitFolders: [...new Set([...own.write, ...found.flatMap(({ gitFolders }) => gitFolders)])],
  };
}

async function ownPlaces(here: Repository): Promise<Omit<GitPlaces, 'gitFolders'>> {
  const asked = ['--git-dir', '--git-common-dir', '--git-path', 'hooks', '--show-toplevel'];
  try {
    // Ralph's own calls have no hooks; those of the user are what is to be protected.
    const words = ['rev-parse', '--path-format=absolute', ...asked];
    const [{ code, stdout }, origins] = await Promise.all([
      execGit(here, words, {}, { as: 'user' }),
      execGit(here, ['config', '--list', '--show-origin', '--name-only', '--null']),
    ]);
    if (code !== 0) return nothing(here);
    const output = stdout.toString('utf8');
    const [own = '', common = '', hooks = '', top = ''] = output.split('\n');
    const pointer = join(top, '.git');
    if (!(await belongs(here, { pointer, own, common }))) return nothing(here);
    const files = filesIn(origins.stdout.toString('utf8')).map((path) => resolve(top, path));
    const { keep, absent, folders } = await keptOf(here, { top, gitFolders: [common, own], files });
    return {
      common,
      visible: [top],
      write: [...new Set([common, own])],
      keep: [hooks, ...keep],
      absent: [hooks, ...absent, ...missingIn(here.folder)],
      folders,
    };
  } catch {
    return nothing(here);
  }
}

/** What must stay as it is in a repository: the git folder comes first, after it that of a worktree. */
async function keptOf(
  here: Repository,
  { top, gitFolders, files = [] }: Repo & { readonly files?: readonly string[] },
): Promise<Pick<GitPlaces, 'keep' | 'absent' | 'folders' | 'gitFolders'>> {
  const pointer = join(top, '.git');
  const all = gitFolders.flatMap((one) => [one, ...modulesIn(join(one, 'modules')), ...worktreesIn(one)]);
  const configurations = all.flatMap((one) => CONFIGURATIONS.map((name) => join(one, name)));
  return {
    keep: [
      ...all.flatMap(keptIn),
      // A worktree's pointer to its git folder.
      ...(statSync(pointer, { throwIfNoEntry: false })?.isFile() === true ? [pointer] : []),
    ],
    // It would send git to another configuration.
    absent: [
      ...gitFolders.slice(0, 1).map((common) => join(common, 'commondir')),
      ...(await withNamed(here, [...files, ...configurations], top)),
    ],
    folders: gitFolders
      .slice(0, 1)
      .flatMap((common) => ['hooks', ...REMOTES].map((name) => join(common, name))),
    gitFolders,
  };
}

/** A working tree or a bare repository. */
interface Repo {
  readonly top: string;
  /** None if it is elsewhere. */
  readonly gitFolders: readonly string[];
}

/** The repositories in folders: each folder itself, and the folders in it. */
function reposIn(folders: readonly string[]): readonly Repo[] {
  const tops = folders.flatMap((folder) => [folder, ...namesIn(folder).map((name) => join(folder, name))]);
  return [...new Set(tops)].flatMap((top) => {
    const inside = join(top, '.git');
    if (existsSync(inside)) return [{ top, gitFolders: isGitFolder(inside) ? [realPath(inside)] : [] }];
    return isGitFolder(top) ? [{ top, gitFolders: [realPath(top)] }] : [];
  });
}

function isGitFolder(path: string): boolean {
  return existsSync(join(path, 'HEAD')) && existsSync(join(path, 'objects'));
}

/**
 * Whether a git folder is that of the working tree with this `.git`. An agent can make a `.git` or a `commondir` that leads to any
 * other repository, where the run of a child could write then.
 */
async function belongs(
  repository: Repository,
  { pointer, own, common }: { readonly pointer: string; readonly own: string; readonly common: string },
): Promise<boolean> {
  if (own !== common) {
    const back = textOf(join(own, 'gitdir')) ?? '';
    return dirname(own) === join(common, 'worktrees') && realPath(resolve(own, back.trimEnd())) === pointer;
  }
  if (own === pointer) return true;
  // The git folder of a submodule names its working tree.
  const { stdout } = await execGit(repository, ['config', '--local', '--get', 'core.worktree']);
  return realPath(resolve(own, stdout.toString('utf8').trimEnd(), '.git')) === pointer;
}

/** Not a repository, or one that git refuses to read: then it stays read-only. */
function nothing({ folder }: Pick<Repository, 'folder'>): Omit<GitPlaces, 'gitFolders'> {
  const found = repositoryAbove(folder);
  return {
    common: null,
    visible: [],
    write: [],
    keep: found === null ? [] : [found],
    absent: missingIn(folder),
    folders: [],
  };
}

/** A repository that the agent makes in the workspace has hooks and filters of its own, or points to one elsewhere. */
function missingIn(folder: string): readonly string[] {
  const path = join(folder, '.git');
  return isTaken(path) ? [] : [path];
}

export interface GitPlaces {
  /** The folder that all worktrees share; null if there is no repository that git can read. */
  readonly common: string | null;
  /** Git does not find a repository around the workspace unless it sees the folders in between. */
  readonly visible: readonly string[];
  readonly write: readonly string[];
  /** Read-only, as far as they exist. */
  readonly keep: readonly string[];
  /** Must not be there after a run if they were not there before. */
  readonly absent: readonly string[];
  /** Made if they are missing, so that they can be read-only. */
  readonly folders: readonly string[];
  /** All that an agent can write, also those of other repositories. */
  readonly gitFolders: readonly string[];
}

function keptIn(folder: string): readonly string[] {
  return [...CONFIGURATIONS, ...REMOTES, 'hooks', 'commondir', 'gitdir'].map((name) => join(folder, name));
}

const CONFIGURATIONS = ['config', 'config.worktree'];
/** Where remotes were configured once; git still reads them. */
const REMOTES = ['remotes', 'branches'];

/** The files that git has settings from. */
function filesIn(origins: string): readonly string[] {
  const fields = origins.split('\0').filter((field) => field.startsWith('file:'));
  return [...new Set(fields.map((field) => field.slice('file:'.length)))];
}

/** Configuration files, what they include at any depth, whether the condition of an include holds now or not, and hooks folders. */
async function withNamed(
  repository: Repository,
  files: readonly string[],
  top: string,
): Promise<readonly string[]> {
  const seen = new Set(files);
  // Grows meanwhile.
  for (const file of seen) {
    if (!/include|hookspath/i.test(textOf(realPath(file)) ?? '')) continue;
    // oxlint-disable-next-line no-await-in-loop -- rare
    for (const path of await namedIn(repository, file, top)) seen.add(path);
    if (seen.size > MAX_INCLUDES) break;
  }
  return [...seen];
}

async function namedIn(repository: Repository, file: string, top: string): Promise<readonly string[]> {
  const asked = ['config', '--file', file, '--no-includes', '--null', '--get-regexp', NAMES];
  const { stdout } = await execGit(repository, asked);
  const entries = stdout.toString('utf8').split('\0');
  const home = repository.env['HOME'] ?? '/';
  return entries.flatMap((entry) => {
    const [key = '', path = ''] = entry.split('\n', 2);
    if (path === '') return [];
    if (path.startsWith('~/')) return [join(home, path.slice(2))];
    return [resolve(key === 'core.hookspath' ? top : dirname(file), path)];
  });
}

const NAMES = String.raw`^(include(if\..*)?\.path|core\.hookspath)$`;
const MAX_INCLUDES = 1000;

/** The git folders of the repository's worktrees. */
export function worktreesIn(common: string): readonly string[] {
  const folder = join(common, 'worktrees');
  return foundAt(folder)?.isDirectory() === true ? namesIn(folder).map((name) => join(folder, name)) : [];
}

/** The git folders of submodules; their names may have several parts. */
function modulesIn(folder: string, level = 0): readonly string[] {
  if (level > MAX_LEVELS || !existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return [];
    const path = join(folder, entry.name);
    return existsSync(join(path, 'HEAD'))
      ? [path].concat(modulesIn(join(path, 'modules'), level + 1))
      : modulesIn(path, level + 1);
  });
}

const MAX_LEVELS = 8;

function repositoryAbove(folder: string): string | null {
  const path = join(folder, '.git');
  if (existsSync(path)) return path;
  return isIn('/', folder) ? null : repositoryAbove(dirname(folder));
}
