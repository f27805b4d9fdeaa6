/**
 * `ralph status` and `ralph ls` without the parser of the command line: shells and people call them often. They are a bundle of
 * their own, because a file that other commands share takes twice as long to load. What reads loops is another one, which is only
 * loaded if there are loops about which nothing is remembered.
 */
import { enlisted } from '../store/background.ts';
import { workspaceWith } from '../store/find-workspace.ts';
import { Mask } from '../store/mask.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { rememberedStatus } from '../views/remembered-status.ts';
import { UserError } from '../user-error.ts';
import { explainError } from './errors.ts';
import { list, listHere, type ListSource } from './list.ts';
import { print } from './print.ts';
import { programStamp } from './program-stamp.ts';
import { statusText } from './status-text.ts';
import { listedWorkspace, workspaceOf } from './workspace.ts';

/** Answers these arguments as the parser would. */
export async function answer([command, word]: readonly string[]): Promise<number> {
  try {
    if (enlisted().length > 0) await (await reading()).wakeDaemon();
    if (command !== 'status') return await list(word === undefined ? listedWorkspace({}) : null, SOURCE);
    if (word === undefined) return await listHere(listedWorkspace({}), SOURCE);
    const known = rememberedStatus(workspaceWith(workspaceOf({}), word), word, programStamp());
    if (known === null) return await (await reading()).status(word, {});
    print(`${new Mask(startersEnvironment(process.env)).text(statusText(known.parts, known.path))}\n`);
    // No process drives it.
    return 1;
  } catch (error) {
    // Either bundle has its own class for errors of users.
    return error instanceof UserError ? explainError(error) : (await reading()).explainError(error);
  }
}

const SOURCE: ListSource = {
  get program() {
    return programStamp();
  },
  reader: async () => (await reading()).listSource().reader(),
  notesAbout: async (workspace) => (await reading()).listSource().notesAbout(workspace),
};

function reading() {
  return import('./reading.ts');
}
