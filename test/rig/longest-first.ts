import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Starts the files that take longest first, so that no worker is left with a long one at the end. Vitest remembers how long files take
 * only in a cache, which a new clone does not have, and then starts the largest first. These take long for their size; a name
 * that is missing or no longer true costs a little time.
 */
const LONG = [
  'test/e2e/daemon',
  'test/e2e/tmux',
  'test/e2e/behaviours',
  'src/hosts/tmux',
  'test/simulation/engine-histories',
  'test/scenarios/conductor',
  'test/e2e/nights',
  'test/scenarios/children',
  'test/e2e/control',
  'test/scenarios/unknown-usage',
  'test/agents/one-real-agent',
  'src/bus/bus',
  'test/scenarios/swarm-failures',
  'test/e2e/mcp-inside',
  'test/e2e/crash',
  'test/e2e/torture',
  'test/scenarios/default',
  'test/scenarios/demo',
  'test/simulation/histories-1',
  'test/simulation/histories-2',
  'test/scenarios/worker-commands',
  'test/scenarios/init',
  'test/e2e/daemon-trouble',
  'test/scenarios/worktree-merges',
  'test/scenarios/commits',
  'test/scenarios/rewinds',
  'test/scenarios/snapshots',
  'test/scenarios/state-and-workspace-folder',
  'test/scenarios/checkpoints',
  'test/scenarios/worktrees',
  'test/e2e/packed',
  'test/contract/library-page',
  'test/e2e/provider-faults',
  'src/programs/opencode/hooks',
  'test/e2e/signals',
  'test/e2e/questions',
  'test/e2e/consent',
  'test/e2e/leave',
  'test/e2e/limits',
  'test/e2e/every-command',
  'test/e2e/mcp',
  'test/e2e/resume',
  'test/scenarios/inside',
  'test/scenarios/disk-full',
  'test/scenarios/hostile-repository',
  'test/simulation/every-index',
  'test/simulation/fuzz-journal',
  'src/git/commit-histories',
  'src/git/restore-histories',
  'src/library/architect-loop',
  'src/home/lock',
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
