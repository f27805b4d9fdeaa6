import { type AgentEvent, isWork } from '../agents/agent.ts';
import { agentNamed } from '../agents/agents.ts';
import { StderrReader } from '../agents/stderr-reader.ts';
import type { LoopFolder } from '../home/home.ts';
import { maskOf, type Mask } from '../home/mask.ts';
import { readLoopIn } from '../home/read-loop.ts';
import type { Spec } from '../home/spec.ts';
import { learn, NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';
import { openRun } from '../loop/run.ts';
import type { Run } from '../loop/state.ts';
import { endRecord, type EndRecord } from '../projections/end-record.ts';
import type { LoopObserver } from '../owner/observer.ts';
import { UserError } from '../user-error.ts';
import { type From, type Page, type Told, eventsIn } from './events.ts';
import { loopAt, refOf } from './find.ts';
import { localLoops } from './local-loops.ts';
import type { Call, LoopRef, Loops } from './loops.ts';
import { type Chunk, runsOf } from './output.ts';

/** What a view needs of a loop that another process drives. */
export interface Followed {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  /** For what its agent says piece by piece: a secret can arrive in two pieces. */
  readonly mask: Mask;
}

/** A loop by its reference, or by the folder of its state. */
export function toFollow(loop: LoopRef | string): Followed {
  const { spec, folder } = typeof loop === 'string' ? readLoopIn(loop) : loopAt(loop);
  return { spec, folder, mask: maskOf(spec) };
}

/** Shows a loop that another process drives, from its first event until it ends or has no owner. */
export async function followLoop(
  { spec, folder }: Pick<Followed, 'spec' | 'folder'>,
  observer: LoopObserver,
  { from: first = null, until = 'no owner' }: Part = {},
): Promise<EndRecord> {
  const loops = localLoops();
  const ref = refOf({ spec });
  let known: Knowledge = NOTHING_KNOWN;
  let run: ShownRun | null = null;

  const take = async (told: Told, page: Page): Promise<void> => {
    if (told.is === 'snapshot') return void (known = told);
    if (told.is === 'agent') return run?.agent(told.event);
    const { event } = told;
    known = learn(known, event);
    const { state, report } = known;
    if (event.type === 'run.ended') {
      await run?.close();
      run = null;
    }
    observer.appended?.(event, state, report);
    // After its start is shown: there may be output already. It starts again if another owner has reattached to the agent.
    const open = openRun(state);
    if (event.type === 'run.started' && open !== null)
      run ??= new ShownRun(
        loops,
        { ref, spec, folder, open, endedAt: endOf(event.run, page, folder) },
        observer,
      );
  };
  const isOver = ({ next: { after } }: Page): boolean =>
    after !== 'more' && (known.state.outcome !== null || (after === 'rest' && until === 'no owner'));
  try {
    let mark: From = first;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one page after the other
      const page: Page | null = await orNull(
        loops.events(ref, { from: mark, agent: true }, { wait: LONG_MS }),
      );
      if (page === null) break;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      for (const told of page.told) await take(told, page);
      if (isOver(page)) break;
      mark = page.next;
    }
  } finally {
    await (run as ShownRun | null)?.close();
  }
  return endRecord(known.state, known.report, spec);
}

/** Which part of a loop is shown. */
export interface Part {
  /** `iteration`: not what was before the last iteration. */
  readonly from?: 'iteration' | null;
  /** `end`: also while it is paused or has no owner for another reason. */
  readonly until?: 'no owner' | 'end';
}

const LONG_MS = 86_400_000;

/** When the run that starts in this page has ended; null if it may still run. */
function endOf(run: string, page: Page, folder: LoopFolder): number | null {
  const end = eventsIn(page).find((event) => event.type === 'run.ended' && event.run === run);
  if (end !== undefined || page.next.after !== 'more') return end?.at ?? null;
  return runsOf(folder).find((one) => one.run === run)?.endedAt ?? null;
}

interface FollowedRun extends Pick<Followed, 'spec' | 'folder'> {
  readonly ref: LoopRef;
  readonly open: Run;
  /** Null if it may still run. */
  readonly endedAt: number | null;
}

/** Shows what the agent of one run does, and its stderr. */
class ShownRun {
  readonly #loops: Loops;
  readonly #run: FollowedRun;
  readonly #observer: LoopObserver;
  readonly #stderr: StderrReader;
  readonly #stop = new AbortController();
  readonly #following: Promise<void>;
  #hasLimit = false;
  /** How much of stderr was shown. */
  #place = 0;

  constructor(loops: Loops, run: FollowedRun, observer: LoopObserver) {
    this.#loops = loops;
    this.#run = run;
    this.#observer = observer;
    const { spec, folder, open, endedAt } = run;
    const facts = { startedAt: open.plannedAt, folder: folder.run(open.id), argv: spec.agent.argv };
    this.#stderr = new StderrReader(agentNamed(spec.agent.kind), facts, (retry, isNew) => {
      if (isNew) this.agent(retry);
    });
    // That of a run that has ended follows what its agent has done.
    this.#following = endedAt === null ? this.#follow() : Promise.resolve();
    this.#following.catch(() => {});
  }

  agent(event: AgentEvent): void {
    if (isWork(event)) this.#stderr.worked();
    // The stream may report the same limit twice, first as a field and then as text.
    if (event.type === 'limit' && this.#hasLimit) return;
    this.#hasLimit ||= event.type === 'limit';
    this.#observer.agent?.(event, this.#run.endedAt ?? Date.now());
  }

  /** Shows the rest of stderr. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#following;
    // oxlint-disable-next-line no-await-in-loop -- one piece after the other
    while ((await this.#read({})) === 'more');
  }

  async #follow(): Promise<void> {
    const call = { signal: this.#stop.signal, wait: LONG_MS };
    // oxlint-disable-next-line no-await-in-loop -- one piece after the other
    while (!this.#stop.signal.aborted && (await this.#read(call)) !== 'end');
  }

  async #read(call: Call): Promise<Chunk['after']> {
    const { ref, open } = this.#run;
    const from = this.#place;
    const chunk = await orNull(this.#loops.output(ref, open.id, 'stderr', { from }, call));
    if (chunk === null) return 'end';
    const fresh = Buffer.from(chunk.from === from ? chunk.data : '', 'base64');
    this.#place = chunk.next;
    if (fresh.length > 0) this.#observer.complained?.(open, this.#stderr.push(fresh, 0).fresh);
    return chunk.after;
  }
}

/** Null if there will be no more: the loop is gone, or its files are damaged. */
async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return null;
  }
}
