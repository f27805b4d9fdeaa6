import { join } from 'node:path';
import { takeLock } from '../control/lock.ts';
import { treeOf } from '../control/spec.ts';
import { ask } from '../git/repository.ts';
import { lastOf, nextRewind } from '../git/records.ts';
import { RestoreError, restoreFiles, type Restored } from '../git/restore.ts';
import { recordName, recordTree } from '../git/tree.ts';
import { isInside } from '../git/worktree.ts';
import { openRun } from '../loop/run.ts';
import { processes } from '../process/processes.ts';
import { UserError } from '../user-error.ts';
import { inWords } from './git.ts';
import { recordNamed, recordsOf, type LoopRecords } from './loop-records.ts';
import { endStep } from './leftovers.ts';
import { readAllLoops, readLoopAt, type LoopReading } from './read-loop.ts';
import { self } from './self.ts';

export interface Rewound extends Restored {
  /** The record of what was there before; null where nothing had to be changed. */
  readonly back: string | null;
}

/** Makes the files of a loop's tree again what they were at a checkpoint. What is there now is put on record first. */
export async function rewindLoop(loop: LoopReading, word: string): Promise<Rewound> {
  const { folder, spec } = loop;
  // Nobody may begin to work on them meanwhile.
  const lock = await takeLock(folder.lock, self());
  if (!lock.taken) throw atWork(spec.name, lock.owner?.pid ?? null, spec.name);
  try {
    const now = readLoopAt(folder) ?? loop;
    refuseWhileAtWork(now);
    // Nor may what its owner did not live to end go on.
    await endStep(now.state, now.spec);
    const records = await recordsOf(loop);
    if (!records.hasFiles) throw new UserError(`the files that "${spec.name}" worked on are gone`);
    return await restore(loop, word, records);
  } finally {
    lock.release();
  }
}

async function restore({ folder, spec }: LoopReading, word: string, found: LoopRecords): Promise<Rewound> {
  const { repository, records } = found;
  const to = recordNamed(spec.name, word, found);
  const names = [...records.keys()];
  const back = nextRewind(names);
  const ref = recordName(spec.id, back);
  const last = lastOf(names);
  const keep = (tree: string): Promise<string> =>
    recordTree(repository, {
      ref,
      tree,
      message: `ralph: ${spec.name}, before it was rewound to ${word}`,
      trailers: [`Ralph-Loop: ${spec.name}`],
      on: last === null ? null : (records.get(last) ?? null),
    });
  const scratch = join(folder.path, `rewind-index-${process.pid}`);
  return inWords(async () => {
    try {
      const restored = await restoreFiles(repository, { to, scratch, keep });
      return { ...restored, back: restored.change === null ? null : back };
    } catch (error) {
      if (!(error instanceof RestoreError)) throw error;
      if (!error.isUntouched) {
        throw new UserError(
          `"${spec.name}" is only partly rewound to ${word}: ${error.message}; get back what was there with: ralph rewind ${spec.name} ${back}`,
          3,
          { cause: error },
        );
      }
      await ask(repository, ['update-ref', '-d', ref]);
      throw new UserError(`cannot rewind to ${word}, and nothing was changed: ${error.message}`, 2, {
        cause: error,
      });
    }
  });
}

/** Files must not change under an agent: that of this loop, or of another one in the same tree. */
function refuseWhileAtWork(loop: LoopReading): void {
  const { spec, state, folder } = loop;
  const agent = openRun(state)?.receipt ?? null;
  if (agent !== null && processes.lives(agent)) {
    throw new UserError(
      `the agent of "${spec.name}" (process ${agent.pid}) is still at work; end it first: ralph stop ${spec.name} --now`,
    );
  }
  const [here, others] = [treeOf(spec), readAllLoops().filter((other) => other.folder.path !== folder.path)];
  const busy = others.find(({ owner, spec: other }) => {
    const there = treeOf(other);
    return owner !== null && (there === here || isInside(here, there) || isInside(there, here));
  });
  if (busy !== undefined) throw atWork(busy.spec.name, busy.owner, spec.name);
}

function atWork(busy: string, pid: number | null, name: string): UserError {
  const where = busy === name ? '' : ` on the same files as "${name}"`;
  return new UserError(
    `"${busy}" is running${where}, owned by process ${pid ?? '?'}; let it rest first: ralph pause ${busy}, or end it: ralph stop ${busy} --now`,
  );
}
