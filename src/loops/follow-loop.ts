import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentEvent } from '../agents/agent.ts';
import { agentNamed } from '../agents/agents.ts';
import { readRun, type RunReader } from '../agents/reader.ts';
import { inMessageRun } from '../agents/message-run.ts';
import type { LoopFolder } from '../store/store.ts';
import { readSpec, type Spec } from '../store/spec.ts';
import type { LoopEvent } from '../loop/event.ts';
import { learn, NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';
import { openRun } from '../loop/run.ts';
import type { LoopState } from '../loop/state.ts';
import { Tail } from '../process/tail.ts';
import { watchFolder } from '../process/watch.ts';
import { isMessageRun } from '../scm/commit-answer.ts';
import { endRecord, type EndRecord } from '../store/end-record.ts';
import type { LoopObserver } from '../owner/observer.ts';
import { UserError } from '../user-error.ts';
import type { Mark, Page } from './events.ts';
import { refOf } from './find.ts';
import { localLoops } from './local-loops.ts';
import type { LoopRef, Loops } from './loops.ts';

/** Shows a loop that another process drives, from its first event until it ends or has no owner. */
export async function followLoop(
  folder: LoopFolder,
  observer: LoopObserver,
  { from = 'start', until = 'no owner' }: Part = {},
): Promise<EndRecord> {
  const spec = readSpec(folder.spec);
  const loops = localLoops();
  let known: Knowledge = NOTHING_KNOWN;
  let output: Output | null = null;

  const take = async (event: LoopEvent, isShown: boolean, endedAt: number | null): Promise<void> => {
    known = learn(known, event);
    if (!isShown) return;
    const { state, report } = known;
    if (event.type === 'run.ended') {
      await output?.close();
      output = null;
    }
    observer.appended?.(event, state, report);
    // After its start is shown: there may be output already.
    if (event.type === 'run.started')
      output = new Output(folder, spec, event.run, { state, endedAt }, observer);
  };
  const isOver = ({ after }: Mark): boolean => after === 'rest' && until === 'no owner';
  try {
    let mark: Mark | null = null;
    do {
      // oxlint-disable-next-line no-await-in-loop -- until something has happened
      const news: News | null = await newsFrom(loops, refOf({ spec }), mark);
      if (news === null) break;
      const { events } = news;
      const start = from === 'start' || mark !== null ? 0 : lastIteration(events);
      mark = news.next;
      // oxlint-disable-next-line no-await-in-loop -- one event after the other
      for (const [index, event] of events.entries()) await take(event, index >= start, endOf(event, events));
    } while (known.state.outcome === null && !isOver(mark));
  } finally {
    await (output as Output | null)?.close();
  }
  return endRecord(known.state, known.report, spec);
}

interface News {
  readonly events: readonly LoopEvent[];
  readonly next: Mark;
}

/** All events after a mark, once there are some or the loop rests; null if there will be none: the loop is gone, or its journal damaged. */
async function newsFrom(loops: Loops, ref: LoopRef, from: Mark | null): Promise<News | null> {
  const events: LoopEvent[] = [];
  let next = from;
  try {
    do {
      // oxlint-disable-next-line no-await-in-loop -- one page after the other
      const page: Page<LoopEvent> = await loops.events(ref, {
        from: next,
        wait: next === from ? LONG_MS : 0,
      });
      events.push(...page.events);
      next = page.next;
    } while (next.after === 'more');
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
  return next === from || next === null ? null : { events, next };
}

const LONG_MS = 86_400_000;

/** Which part of a loop is shown. */
export interface Part {
  /** `iteration`: not what was before the last iteration. */
  readonly from?: 'start' | 'iteration';
  /** `end`: also while it is paused or has no owner for another reason. */
  readonly until?: 'no owner' | 'end';
}

/** When the run that starts here has ended; null if it may still run. */
function endOf(event: LoopEvent, events: readonly LoopEvent[]): number | null {
  if (event.type !== 'run.started') return null;
  return events.find((other) => other.type === 'run.ended' && other.run === event.run)?.at ?? null;
}

/** Where the last iteration begins. */
function lastIteration(events: readonly LoopEvent[]): number {
  return Math.max(
    0,
    events.findLastIndex(({ type }) => type === 'iteration.started'),
  );
}

/** Passes on the output of one run as it arrives. */
class Output {
  readonly #tails: Tail[] = [];
  readonly #stopWatching: () => void;
  readonly #reader: RunReader;

  constructor(
    folder: LoopFolder,
    spec: Spec,
    run: string,
    { state, endedAt }: { readonly state: LoopState; readonly endedAt: number | null },
    observer: LoopObserver,
  ) {
    const path = folder.run(run);
    const open = openRun(state);
    const agent = agentNamed(spec.agent.kind);
    const reader = readRun(
      open?.purpose === 'commit-message' ? inMessageRun(agent) : agent,
      // Claims are for the owner to find.
      [],
      {
        shown: { offset: 0 },
        startedAt: open?.plannedAt ?? state.now,
        folder: path,
        desk: folder.desk.run(run),
        argv: spec.agent.argv,
        // What the agent has recorded is not shown.
        env: () => ({}),
        session: null,
        price: () => null,
        hide: (text) => text,
        search: () => null,
      },
      (event) => observer.agent?.(event, endedAt ?? Date.now()),
    );
    this.#reader = reader;
    if (existsSync(join(path, 'stdout.log')))
      this.#tails.push(new Tail(join(path, 'stdout.log'), 0, (chunk) => void reader.read(chunk)));
    if (existsSync(join(path, 'stderr.log')) && open !== null)
      this.#tails.push(
        new Tail(join(path, 'stderr.log'), 0, (chunk) =>
          observer.complained?.(open, reader.readStderr(chunk)),
        ),
      );
    this.#stopWatching = watchFolder(path, () => this.#look());
    this.#look();
  }

  async close(): Promise<void> {
    this.#stopWatching();
    await Promise.all(this.#tails.map((tail) => tail.close()));
    this.#reader.end();
  }

  #look(): void {
    for (const tail of this.#tails) tail.look();
  }
}

interface AgentSink {
  take(chunk: Buffer): void;
  end(): void;
}

/** Parses the output of one run into events; null if its agent prints plain text. */
export function agentSink(kind: string, path: string, show: (event: AgentEvent) => void): AgentSink | null {
  const agent = agentNamed(kind);
  if (agent.name === 'custom') return null;
  const reads = isMessageRun(path) ? inMessageRun(agent) : agent;
  // The start only matters for when a usage limit resets, which the logs do not show.
  const parser = reads.read({ startedAt: 0, folder: path });
  return {
    take: (chunk) => parser.push(chunk).forEach(show),
    end: () => parser.end().forEach(show),
  };
}
