/**
 * Compares the files that the evidence rests on with the loop's start, and puts protected ones back.
 *
 * 1. What was there at the start is known from ids in the journal. Refs, the index and the attributes of the repository,
 *    which an agent can write, are not used.
 * 2. After every iteration this costs no git call, only a look at each watched file; a file is read again if it was touched.
 */
import type { EffectOf } from '../engine/ports.ts';
import { GitError, topOf, type Repository } from '../git/git.ts';
import {
  FileComparison,
  readRegularFile,
  recordOf,
  storeExactly,
  type RecordedFile,
} from '../git/recorded-files.ts';
import { restoreFiles } from '../git/restore-files.ts';
import { packageScripts } from '../checks/check-files.ts';
import type { ChangedEvidence, Evidence, Restoration, StartRecord } from '../loop/event.ts';
import { isWatching } from '../loop/evidence.ts';
import type { Policy } from '../loop/policy.ts';
import { hideSecrets } from '../loop/secrets.ts';
import { treeOf } from '../home/spec.ts';
import type { StartedLoop } from '../home/run-environment.ts';
import { reasonOf } from '../user-error.ts';
import { userGit } from './user-git.ts';
import { ABSENT, watchedFiles, type WatchedFile } from './watched-files.ts';

export interface LoopEvidence {
  examine(effect: EffectOf<'examine'>): Promise<Evidence>;
  restore(effect: EffectOf<'restore'>): Promise<Restoration>;
}

export function loopEvidence(loop: StartedLoop & { readonly policy: () => Policy }): LoopEvidence {
  const { spec, env } = loop;
  let known: { readonly of: string; readonly files: readonly WatchedFile[] } | null = null;
  let comparison: FileComparison | null = null;
  const repositoryNow = (): Repository => userGit(loop.policy(), treeOf(spec), env);
  const changedNow = async (start: StartRecord): Promise<readonly Change[]> => {
    const repository = repositoryNow();
    const { checks, evidence } = loop.policy();
    const of = JSON.stringify([start.tree, checks.commands, evidence.protect]);
    if (known?.of !== of) known = { of, files: (await watchedFiles(repository, start, loop.policy())).files };
    const top = await topOf(repository);
    comparison ??= new FileComparison(top);
    return changesAmong(known.files, top, comparison);
  };
  return {
    async examine({ start }) {
      try {
        return found(await changedNow(start));
      } catch (error) {
        const problem = hideSecrets(reasonOf(error), env);
        return { changed: [], more: 0, protected: 0, problem };
      }
    },
    async restore({ start }) {
      try {
        const changes = (await changedNow(start)).filter(({ file }) => file.as === 'protected');
        const files = changes.map(({ file }) => file);
        const results = await restoreFiles(repositoryNow(), files);
        return restoration(files.map(({ name, path }) => [safe(name), results.get(path) ?? null]));
      } catch (error) {
        return restoration([['protected files', hideSecrets(reasonOf(error), env)]]);
      }
    },
  };
}

/** What the journal has to know about the start; throws a `GitError` if the files cannot be listed. */
export async function startRecord(
  repository: Repository,
  tree: string,
  policy: Policy,
  promptFile: string | null,
): Promise<{ readonly start: StartRecord; readonly notes: readonly string[] }> {
  const prompt = promptFile === null ? {} : { prompt: promptFile };
  const asked = { tree, ...prompt };
  if (!isWatching({ policy, start: asked })) return { start: { tree }, notes: [] };
  const { files, hash, folder, idle } = await watchedFiles(repository, asked, policy);
  const hasPrompt = files.some(({ name }) => name === promptFile);
  const top = await topOf(repository);
  const comparison = new FileComparison(top);
  const inexact = files.filter((file) => comparison.compare(file) !== 'same');
  const exact = await exactRecords(repository, top, inexact);
  return {
    start: {
      tree,
      files: hash,
      ...(folder === '' ? {} : { folder }),
      ...(hasPrompt ? prompt : {}),
      ...(exact === null ? {} : { exact }),
    },
    notes: idle.map(
      (glob) => `warning: protect: no file matches ${JSON.stringify(glob)} now, and new files do not count`,
    ),
  };
}

/** Files that git stores otherwise than they are on disk: because of a filter, or outside of the workspace. */
async function exactRecords(
  repository: Repository,
  top: string,
  files: readonly RecordedFile[],
): Promise<NonNullable<StartRecord['exact']> | null> {
  if (files.length === 0) return null;
  if (files.length > MAX_EXACT)
    throw new GitError(`git stores ${files.length} tests and check files otherwise than they are on disk`);
  const records = files.map((file) => ({ file, record: recordOf(top, file) }));
  const stored = records.flatMap(({ file, record }) =>
    record === null || record.mode === '120000' ? [] : [`${top}/${file.path}`],
  );
  await storeExactly(repository, stored);
  return Object.fromEntries(
    records.map(({ file, record }) => [
      file.path,
      record === null ? `${ABSENT} ${file.object}` : `${record.mode} ${record.object}`,
    ]),
  );
}

interface Change {
  readonly file: WatchedFile;
  readonly how: ChangedEvidence['how'];
  readonly part?: string;
}

function changesAmong(
  files: readonly WatchedFile[],
  top: string,
  comparison: FileComparison,
): readonly Change[] {
  return files.flatMap((file): readonly Change[] => {
    const result = comparison.compare(file);
    if (result === 'same') return [];
    if (result === 'gone') return [{ file, how: 'deleted' }];
    if (file.scripts === undefined) return [{ file, how: 'changed' }];
    const part = changedScripts(file.scripts, readRegularFile(top, file.path));
    return part === null ? [] : [{ file, how: 'changed', ...(part === '' ? {} : { part }) }];
  });
}

/** The names of changed scripts; empty if the file is no package.json any more, and null if none was changed. */
function changedScripts(before: ReadonlyMap<string, unknown>, content: Buffer | null): string | null {
  const now = packageScripts(content?.toString('utf8') ?? '');
  if (now === null) return '';
  const changed = [...before].filter(
    ([name, script]) => JSON.stringify(script) !== JSON.stringify(now[name]),
  );
  return changed.length === 0 ? null : changed.map(([name]) => `scripts.${name}`).join(', ');
}

/** The first few by importance and name: an agent can change thousands of files. */
function found(changes: readonly Change[]): Evidence {
  const sorted = changes.toSorted(
    (a, b) => RANKS[a.file.as] - RANKS[b.file.as] || (a.file.name < b.file.name ? -1 : 1),
  );
  return {
    changed: sorted.slice(0, MAX_NAMES).map(changedFile),
    more: Math.max(0, sorted.length - MAX_NAMES),
    protected: sorted.filter(({ file }) => file.as === 'protected').length,
    problem: null,
  };
}

/** These stay in the journal. */
const MAX_EXACT = 1000;

function changedFile({ file, how, part }: Change): ChangedEvidence {
  const known = { path: safe(file.name), how, as: file.as };
  return part === undefined ? known : { ...known, part: safe(part) };
}

const RANKS = { prompt: 0, protected: 1, check: 2, test: 3 } as const;
const MAX_NAMES = 8;

function restoration(results: readonly (readonly [string, string | null])[]): Restoration {
  const restored = results.filter(([, reason]) => reason === null).map(([path]) => path);
  const failed = results.flatMap(([path, reason]) => (reason === null ? [] : [{ path, reason }]));
  return {
    restored: restored.slice(0, MAX_NAMES),
    more: Math.max(0, restored.length - MAX_NAMES),
    failed: failed.slice(0, MAX_NAMES),
    moreFailed: Math.max(0, failed.length - MAX_NAMES),
  };
}

/** A name that cannot control a terminal, break a line of a prompt or hide a part of itself. */
function safe(name: string): string {
  const shown = name.replaceAll(UNSAFE, '\uFFFD');
  return shown.length > MAX_LENGTH ? `${shown.slice(0, MAX_LENGTH - 1)}…` : shown;
}

// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const UNSAFE = /[\u0000-\u001F\u007F-\u009F\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069`]/g;
const MAX_LENGTH = 200;
