import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { treeOf } from '../home/spec.ts';
import { execGit } from '../git/git.ts';
import { lastOf, nextRewind } from '../git/records.ts';
import { RestoreError } from '../git/git-error.ts';
import { restoreFiles, type Restored } from '../git/restore.ts';
import { recordName, recordTree } from '../git/refs.ts';
import { isInside } from '../files/files.ts';
import { UserError } from '../user-error.ts';
import { withGitErrorsForUser } from '../workspace/user-git.ts';
import { stillRunning, withIdleLoop } from '../owner/idle-loop.ts';
import { rewindMarker } from '../owner/recovery.ts';
import { recordNamed, recordsOf, type LoopRecords } from '../workspace/loop-records.ts';
import { readAllLoops, type LoopReading } from '../home/read-loop.ts';

export interface Rewound extends Restored {
  /** The record of the files before the rewind; null if nothing had to be changed. */
  readonly back: string | null;
  /** The folder with exact copies of files that git would not restore exactly. */
  readonly copies: string;
}

/** Restores the files of a loop's tree from a checkpoint, and records the current files first. */
export function rewindLoop(loop: LoopReading, word: string): Promise<Rewound> {
  return withIdleLoop(loop, async () => {
    refuseWhileOthersRun(loop);
    const records = await recordsOf(loop);
    if (!records.hasFiles) throw new UserError(`cannot rewind "${loop.spec.name}": its files are gone`);
    return restore(loop, word, records);
  });
}

async function restore({ folder, spec }: LoopReading, word: string, found: LoopRecords): Promise<Rewound> {
  const { records } = found;
  const marker = rewindMarker(spec);
  // Lets a later process find a git that outlives this one.
  const env = { ...found.repository.env, [marker.name]: marker.value };
  const repository = { ...found.repository, env };
  const to = recordNamed(spec.name, word, found);
  const names = [...records.keys()];
  const back = nextRewind(names);
  const ref = recordName(spec.id, back);
  const last = lastOf(names);
  const keep = (tree: string): Promise<unknown> =>
    recordTree(repository, {
      ref,
      tree,
      message: `ralph: ${spec.name}, before it was rewound to ${word}`,
      trailers: [`Ralph-Loop: ${spec.name}`],
      on: last === null ? null : (records.get(last) ?? null),
    });
  const copies = { into: folder.rewind(back), from: folder.rewind(word) };
  const scratch = join(folder.rewindScratch, 'index');
  return withGitErrorsForUser(async () => {
    try {
      const restored = await restoreFiles(repository, { to, scratch, keep, copies });
      return { ...restored, back: restored.change === null ? null : back, copies: copies.into };
    } catch (error) {
      if (!(error instanceof RestoreError)) throw error;
      if (!error.isUntouched) {
        throw new UserError(
          `"${spec.name}" is only partly rewound to ${word}: ${error.message}; restore the files from before with: ralph rewind ${spec.name} ${back}`,
          3,
          { cause: error },
        );
      }
      await execGit(repository, ['update-ref', '-d', ref]);
      rmSync(copies.into, { recursive: true, force: true });
      throw new UserError(`cannot rewind to ${word}, nothing was changed: ${error.message}`, 2, {
        cause: error,
      });
    } finally {
      rmSync(folder.rewindScratch, { recursive: true, force: true });
    }
  });
}

/** Refuses while another loop runs in the same tree, because its files must not change. */
function refuseWhileOthersRun({ spec, folder }: LoopReading): void {
  const [here, others] = [treeOf(spec), readAllLoops().filter((other) => other.folder.path !== folder.path)];
  const busy = others.find(({ owner, spec: other }) => {
    const there = treeOf(other);
    return owner !== null && (there === here || isInside(here, there) || isInside(there, here));
  });
  if (busy !== undefined) {
    throw stillRunning(busy.spec.name, busy.owner, ` on the same files as "${spec.name}"`);
  }
}
