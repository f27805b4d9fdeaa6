import type { RunReader } from '../../src/agents/reader.ts';
import type { Workspace } from '../../src/engine/ports.ts';
import type { Happening, OutputSnapshot, RunError } from '../../src/loop/event.ts';
import type { Policy } from '../../src/loop/policy.ts';
import { endsByClaim, NO_OUTPUT } from '../../src/loop/run.ts';
import type { Life } from './life.ts';
import type { AgentProcess, FakeWorld } from './world.ts';

/** The folders of a fake world, as one driver process sees them. */
export function fakeWorkspace(world: FakeWorld, life: Life, workspaceFolder: WorkspaceFolder): Workspace {
  return {
    probe: (effect) => life.takes(1, effect.key, () => world.look(effect)),
    moveAside(markers) {
      life.touches('moving a marker');
      if (!life.isDead) world.moveAside(markers);
    },
    examine: (effect) => life.takes(1, effect.key, () => world.examine()),
    restore(effect) {
      life.touches(effect.key);
      return life.takes(1, effect.key, () => world.restore());
    },
    writePrompt: ({ run }) =>
      life.takes(1, `the prompt of run ${run}`, () => {
        if (workspaceFolder.promptLostAt === run) return { error: LOST };
        world.prompts.add(run);
        return { path: `runs/${run}/prompt.md`, hash: run, base: run };
      }),
    read({ id }) {
      const process = world.processes.get(id);
      if (process === undefined) throw new Error(`run ${id} is read but was never started`);
      return reader(process, world);
    },
    knownLimit: (now) =>
      workspaceFolder.limit !== null && workspaceFolder.limit.resetsAt > now ? workspaceFolder.limit : null,
    // Walking a big tree takes time, and an agent may exit meanwhile.
    changedAfter: () => life.later(2, () => null),
    fullDisk: () => null,
    check(effect, graceMs, interrupt) {
      life.touches(effect.key);
      const over = life.begin(effect.key);
      return new Promise((resolve) => {
        const { clock } = life;
        const finish = (): void => {
          over();
          interrupt.removeEventListener('abort', giveUp);
          resolve(interrupt.aborted ? null : world.check());
        };
        const cancel = clock.at(clock.now() + 10, finish);
        const giveUp = (): void => {
          cancel();
          clock.at(clock.now() + Math.min(graceMs, 3), finish);
        };
        interrupt.addEventListener('abort', giveUp);
      });
    },
    changes: (effect) => life.takes(1, effect.key, () => world.changes()),
    commit(effect) {
      life.touches(effect.key);
      return life.takes(5, effect.key, () => world.commit(effect));
    },
    hasRecords: () => true,
    checkpoint: (effect, interrupt) =>
      life.takes(5, effect.key, () => (interrupt.aborted ? null : world.record(effect))),
    questions: () => [],
    sparedGroups: () => [],
    familyCount: () => null,
    childChanges({ children }) {
      const living = [...workspaceFolder.children]
        .filter(([, endsAt]) => endsAt > world.clock)
        .map(([child]) => child);
      return [
        ...living
          .filter((child) => !children.includes(child))
          .map((child): Happening => ({ type: 'child.started', child })),
        ...children
          .filter((child) => !living.includes(child))
          .map((child): Happening => ({ type: 'child.ended', child, outcome: null, lost: 'crashed' })),
      ];
    },
    edits({ policy }) {
      const { edited } = workspaceFolder;
      if (edited === null) return [];
      // A driver that crashed before writing it finds the edit again.
      if (JSON.stringify(edited) !== JSON.stringify(policy))
        return [{ type: 'policy.changed', policy: edited }];
      workspaceFolder.edited = null;
      return [];
    },
  };
}

/** What people and other loops have left for the driver; it survives a crash. */
export interface WorkspaceFolder {
  /** Child loops, and when they end. */
  readonly children: Map<string, number>;
  /** A usage limit that another loop of the account hit. */
  limit: { readonly resetsAt: number; readonly message: string } | null;
  /** A policy that a person wrote into the loop's file. */
  edited: Policy | null;
  /** The run whose prompt cannot be written. */
  readonly promptLostAt: string | null;
}

const LOST: RunError = { kind: 'prompt-missing', message: 'the prompt is gone' };

/** Knows only the output that was passed to it, not the whole world. */
function reader(process: AgentProcess, world: FakeWorld): RunReader {
  const { script, startedAt, endsAt } = process;
  let seen: OutputSnapshot = NO_OUTPUT;
  return {
    read(chunk) {
      const known = seen;
      seen = world.output(process, chunk.readDoubleLE());
      if (endsByClaim(seen) || isChanged(known, { ...seen, tokens: known.tokens, cost: known.cost }))
        return 'now';
      return isChanged(known, seen) ? 'soon' : 'later';
    },
    readStderr: (chunk) => chunk,
    readScreen: () => false,
    end() {},
    snapshot: (ended) => ({ ...seen, claim: ended || endsByClaim(seen) ? seen.claim : null }),
    hasOpenTool: false,
    hasRecord: false,
    isHopeless: false,
    isActive: true,
    isUnanswered: false,
    get hasResult() {
      return seen.said !== null;
    },
    get error() {
      return script.ending.how === 'exited' && startedAt + seen.offset >= endsAt ? script.ending.error : null;
    },
  };
}

function isChanged(known: OutputSnapshot, seen: OutputSnapshot): boolean {
  return JSON.stringify({ ...known, offset: 0 }) !== JSON.stringify({ ...seen, offset: 0 });
}
