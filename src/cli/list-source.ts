import { describeStranger, moveCommand, strangersIn } from '../store/strangers.ts';
import { rowReader } from '../views/loop-row.ts';
import type { ListSource } from './list.ts';
import { programStamp } from './program-stamp.ts';

/** Reads the loops of a list where nothing is remembered about them. */
export function listSource(): ListSource {
  return {
    program: programStamp(),
    reader: () => Promise.resolve(rowReader()),
    notesAbout: (workspace) => Promise.resolve(notesAbout(workspace)),
  };
}

function notesAbout(workspace: string): readonly string[] {
  const strangers = strangersIn(workspace);
  const moved = new Set(strangers.flatMap(({ movedFrom }) => movedFrom ?? []));
  return [
    ...[...moved].map(
      (from) => `this workspace was ${from} before; take its loops along with: ${moveCommand(from)}`,
    ),
    ...strangers.filter(({ movedFrom }) => movedFrom === null).map(describeStranger),
  ];
}
