import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Starts the files that take longest first, so that no worker is left with a long one at the end. Vitest remembers how long files take
 * only in a cache, which a new clone does not have, and then starts the largest first. These take long for their size; a name
 * that is missing or no longer true costs a little time.
 */
const LONG = [
  'test/e2e/torture',
  'test/simulation/engine-histories',
  'test/e2e/daemon',
  'test/e2e/behaviours',
  'test/e2e/tmux',
  'src/bus/bus',
  'test/simulation/histories-1',
  'test/simulation/histories-2',
  'test/scenarios/worktrees',
  'test/scenarios/worktree-merges',
  'test/scenarios/commits',
  'test/scenarios/children',
  'test/scenarios/inside',
  'test/scenarios/disk-full',
  'test/e2e/packed',
  'test/e2e/mcp-inside',
  'test/e2e/nights',
  'test/e2e/limits',
  'test/e2e/crash',
  'test/scenarios/swarm-failures',
  'test/simulation/every-index',
  'test/simulation/fuzz-journal',
  'src/git/commit-histories',
  'src/git/restore-histories',
  'src/library/architect-loop',
  'src/store/lock',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- of a sequencer
    const sorted = await super.sort(files);
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const index = LONG.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return index < 0 ? LONG.length : index;
    };
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}
