import { readdirSync } from 'node:fs';
import { execGit, type Repository } from './git.ts';

/** Whether a commit may run hooks, which may change files. */
export async function mayHaveHooks(repository: Repository): Promise<boolean> {
  const folder = knownFolders.get(repository.folder) ?? (await findHooks(repository));
  knownFolders.set(repository.folder, folder);
  if (folder === null) return true;
  try {
    return readdirSync(folder).some((name) => !name.endsWith('.sample'));
  } catch {
    // The folder need not exist.
    return false;
  }
}

/** The folder of the repository's hooks; null if there are others. */
async function findHooks(repository: Repository): Promise<string | null> {
  // As the user's: Ralph's own commands run without hooks.
  const [place, settings] = await Promise.all(
    [
      ['rev-parse', '--path-format=absolute', '--git-path', 'hooks'],
      // Git 2.54 and later also have hooks in the configuration.
      ['config', '--get-regexp', String.raw`^(hook\..*|core\.hookspath)$`],
    ].map((args) => execGit(repository, args, {}, { as: 'user' })),
  );
  const isUsual = place?.code === 0 && settings?.code === 1;
  return isUsual ? place.stdout.toString('utf8').replace(/\n$/, '') : null;
}

/** By folder. */
const knownFolders = new Map<string, string | null>();
