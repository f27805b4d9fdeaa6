import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execGit, type Repository } from './git.ts';
import { commonFolder } from './read-ref.ts';

/** Whether git would write loose objects and refs as Ralph does. */
export async function isPlain(repository: Repository): Promise<boolean> {
  const { env } = repository;
  if (DATES.some((name) => env[name] !== undefined) || env['TZ'] !== process.env['TZ']) return false;
  const common = await commonFolder(repository);
  // Refs can be moved to another store at any time.
  if (existsSync(join(common, 'reftable'))) return false;
  const known = plainRepositories.get(common);
  if (known !== undefined) return known;
  const listed = await execGit(repository, ['config', '--null', '--get-regexp', SETTINGS]);
  const settings = listed.stdout.toString('latin1').split('\0').slice(0, -1);
  const isUsual = settings.every((entry) => /^core\.logallrefupdates\n(?:true|false)$/.test(entry));
  const answer = (listed.code === 0 || listed.code === 1) && isUsual;
  plainRepositories.set(common, answer);
  return answer;
}

const DATES = ['GIT_AUTHOR_DATE', 'GIT_COMMITTER_DATE'];
/** A setting that is changed later has no effect on the records of this process. */
const plainRepositories = new Map<string, boolean>();
const SETTINGS = [
  String.raw`^core\.(sharedrepository|logallrefupdates|createobject|fsync.*)$`,
  String.raw`^extensions\.(refstorage|compatobjectformat)$`,
  String.raw`^i18n\.commitencoding$`,
].join('|');
