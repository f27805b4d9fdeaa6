/**
 * One agent run, from its plan to its end.
 *
 * 1. `run.planned` is synced before the process starts.
 * 2. A run ends when its process exits, when its stream said that it has finished and the process does not exit within
 *    the grace, at a time limit, at the output limit, or when it is no longer wanted.
 * 3. However a run ends, everything that it started is ended before `run.ended` is written. Recorded children are spared
 *    (`home/recorded-children.ts`), unless the run is cut short.
 * 4. A run whose owner leaves keeps running; only what was read of it is journaled.
 */
import type { RunReader } from '../agents/reader.ts';
import { NotStarted, type HostedRun } from '../hosts/host.ts';
import { decide } from '../loop/decide.ts';
import type { OutputSnapshot, RunEnding, RunError } from '../loop/event.ts';
import type { StrayProcess } from '../loop/receipt.ts';
import { classify } from '../loop/failure.ts';
import { openRun } from '../loop/run.ts';
import type { Run } from '../loop/state.ts';
import type { Driver, EffectOf, WrittenPrompt } from './ports.ts';
import { RunWatch, type Reason } from './run-watch.ts';
import type { Task } from './task.ts';

/** Carries out one run: starts a new one, or adopts the one that is planned already, and follows it to its end. */
export async function performRun(driver: Driver, effect: EffectOf<'run'>, task: Task): Promise<void> {
  const planned = openRun(driver.state);
  const live =
    planned === null ? await planAndStart(driver, effect, task) : await adopt(driver, effect, planned, task);
  if (live === null) return;
  noteStart(driver, effect.run, live);
  await follow(driver, live, task);
}

/** Journals that a run has begun, if an earlier owner died before it could. */
function noteStart(driver: Driver, run: string, { receipt }: HostedRun): void {
  if (openRun(driver.state)?.receipt === null) driver.write({ type: 'run.started', run, receipt });
}

/** Plans a run and starts it; null when it does not start. */
async function planAndStart(driver: Driver, effect: EffectOf<'run'>, task: Task): Promise<HostedRun | null> {
  const { run, purpose, guidance } = effect;
  if (effect.respectsSharedLimit && waitsForSharedLimit(driver)) return null;
  // What a person told the agent is for a prompt that reaches it.
  const hasTurn = driver.ports.host.hasTurn === true;
  const prompt = hasTurn ? null : await driver.ports.workspace.writePrompt(effect);
  // As late as possible: the loops of a family have one budget, and others may have spent it meanwhile.
  countFamily(driver);
  if (task.interrupted.aborted || task.left.aborted || !isStillWanted(driver, effect)) return null;
  const planned = {
    guidance: hasTurn ? [] : guidance,
    prompt: prompt === null || 'error' in prompt ? null : prompt,
  };
  if (!driver.write({ type: 'run.planned', run, purpose, ...planned })) return null;
  return start(driver, effect, prompt, task);
}

/** Finds the run that an earlier owner planned, and starts it only if it never began. */
async function adopt(
  driver: Driver,
  effect: EffectOf<'run'>,
  { receipt }: Run,
  task: Task,
): Promise<HostedRun | null> {
  const { host, workspace } = driver.ports;
  const found = await host.find({ run: effect.run, receipt });
  if (found !== null || task.left.aborted) return found;
  if (task.interrupted.aborted) return endUnstarted(driver, { how: 'interrupted' });
  // The earlier owner may have died because the prompt could not be written.
  return start(driver, effect, await workspace.writePrompt(effect), task);
}

/** Starts a planned run; null when it does not start. */
async function start(
  driver: Driver,
  effect: EffectOf<'run'>,
  prompt: WrittenPrompt | null,
  task: Task,
): Promise<HostedRun | null> {
  if (prompt !== null && 'error' in prompt)
    return endUnstarted(driver, { how: 'not-started', error: prompt.error });
  // Do not start a cancelled run, or one whose plan is not on disk yet.
  driver.sync();
  if (task.interrupted.aborted) return endUnstarted(driver, { how: 'interrupted' });
  // The next owner finds the plan and starts it.
  if (task.left.aborted) return null;
  try {
    return await driver.ports.host.start({
      run: effect.run,
      receipt: openRun(driver.state)?.receipt ?? null,
    });
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    return endUnstarted(driver, { how: 'not-started', error: error.error });
  }
}

function endUnstarted(driver: Driver, ending: RunEnding): null {
  recordEnd(driver, ending);
  return null;
}

function countFamily(driver: Driver): void {
  const count = driver.ports.workspace.familyCount(driver.state);
  if (count !== null) driver.append(count);
}

/** Whether another loop of the account has hit a limit that this loop has to wait for too. */
function waitsForSharedLimit(driver: Driver): boolean {
  const { clock, workspace, chance } = driver.ports;
  const limit = workspace.knownLimit(Math.max(driver.state.now, clock.now()));
  if (limit === null) return false;
  const { resetsAt, message } = limit;
  return driver.append({ type: 'limit.shared', resetsAt, message, jitter: chance() });
}

/** Ends a run that is no longer wanted, if it ever began. */
export async function endRun(driver: Driver, { id, receipt }: Run): Promise<void> {
  const live = await driver.ports.host.find({ run: id, receipt });
  if (live === null) return recordEnd(driver, { how: 'interrupted' });
  // It may have used something.
  noteStart(driver, id, live);
  const open = openRun(driver.state);
  if (open === null) return;
  try {
    const reader = driver.ports.workspace.read(open, driver.state);
    live.follow((chunk, stream) => {
      if (stream === 'stdout') reader.read(chunk);
      else reader.readStderr(chunk);
    });
    await finish(driver, live, reader, { rest: 'read', spares: false }, () => ({ how: 'interrupted' }));
  } catch {
    await endUnread(driver, live);
  }
}

/** Ends a run whose output cannot be read. */
async function endUnread(driver: Driver, live: HostedRun): Promise<void> {
  const strays = await live.stop(driver.state.policy.timeouts.killGraceMs);
  // It throws once more why it cannot be read.
  await live.close('leave').catch(() => {});
  recordEnd(driver, { how: 'interrupted' }, strays);
}

function isStillWanted(driver: Driver, { key }: EffectOf<'run'>): boolean {
  return decide(driver.state).some((effect) => effect.key === key);
}

/** Watches a run and ends it, or detaches from it when the owner leaves. */
async function follow(driver: Driver, live: HostedRun, task: Task): Promise<void> {
  const open = openRun(driver.state);
  if (open === null) return;
  let watch: RunWatch | null = null;
  try {
    const reader = driver.ports.workspace.read(open, driver.state);
    watch = new RunWatch(driver, open, live, reader, task);
    const reason = await watch.reason;
    await watch.close();
    if (reason !== 'left') return await readToEnd(driver, open, live, { reader, watch, reason });
  } catch (error) {
    await watch?.close();
    await endUnread(driver, live);
    throw error;
  }
  await live.detach();
  watch.publish();
}

async function readToEnd(
  driver: Driver,
  open: Run,
  live: HostedRun,
  {
    reader,
    watch,
    reason,
  }: { readonly reader: RunReader; readonly watch: RunWatch; readonly reason: Exclude<Reason, 'left'> },
): Promise<void> {
  // A run that printed too much is not read to its end.
  const rest = reason === 'output' ? 'leave' : 'read';
  const spares = reason !== 'interrupted' && reason !== 'total';
  await finish(driver, live, reader, { rest, spares }, (code) =>
    isCutOff(live, reason, code)
      ? { how: 'interrupted' }
      : endingFor(
          reason === 'exited' && watch.hasFlooded ? 'output' : reason,
          code,
          errorOf(driver, open, code, reader),
          reader.isUnanswered,
        ),
  );
}

/** Whether a restart of the machine has ended the run: with a signal, or before its exit code could be written. */
function isCutOff({ isOfEarlierBoot }: HostedRun, reason: Reason, code: number | null): boolean {
  if (reason !== 'exited' || !isOfEarlierBoot) return false;
  return code === null || SHUTDOWN_CODES.has(code);
}

/** The shim writes 128 and the number of the signal: SIGHUP, SIGINT, SIGKILL or SIGTERM. */
const SHUTDOWN_CODES: ReadonlySet<number> = new Set([129, 130, 137, 143]);

/** Nothing that failed on a full disk says anything about the agent. */
function errorOf(driver: Driver, { id }: Run, code: number | null, { error }: RunReader): RunError | null {
  const message = code === 0 ? null : driver.ports.workspace.fullDisk(id);
  return message === null ? error : { kind: 'disk-full', message };
}

function endingFor(
  reason: Exclude<Reason, 'left'>,
  code: number | null,
  error: RunError | null,
  isUnanswered: boolean,
): RunEnding {
  switch (reason) {
    case 'exited':
    case 'finished':
    case 'hopeless':
      return { how: 'exited', code, error };
    case 'interrupted':
      return { how: 'interrupted' };
    case 'inactivity':
    case 'wall':
    case 'total':
    case 'output':
      return {
        how: 'timed-out',
        which: reason,
        ...(reason === 'inactivity' && isUnanswered ? { unanswered: true } : {}),
        ...(code === null || code === 0 ? {} : { code }),
      };
  }
}

/** Ends the run and everything that it started, reads the last of its output, and journals its end. */
async function finish(
  driver: Driver,
  live: HostedRun,
  reader: RunReader,
  { rest, spares }: { readonly rest: 'read' | 'leave'; readonly spares: boolean },
  ending: (code: number | null) => RunEnding,
): Promise<void> {
  // An agent that is ended may clear its terminal.
  const screen = await live.screen?.().catch(() => null);
  if (screen !== undefined && screen !== null) reader.readScreen(screen.own);
  const { workspace } = driver.ports;
  const spared = spares ? workspace.sparedGroups(driver.state) : [];
  const strays = await live.stop(driver.state.policy.timeouts.killGraceMs, spared);
  const code = await live.close(rest);
  reader.end();
  const open = openRun(driver.state);
  if (open === null) return;
  const last = reader.snapshot(true);
  if (!same(last, open.output)) driver.append({ type: 'run.output', run: open.id, ...last });
  const news = [...workspace.childChanges(driver.state), ...workspace.questions(driver.state)];
  for (const happening of news) driver.append(happening);
  try {
    countFamily(driver);
  } catch {
    // This run has ended all the same; before the next one the loop ends by it.
  }
  recordEnd(driver, ending(code), strays);
}

function same(a: OutputSnapshot, b: OutputSnapshot): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function recordEnd(driver: Driver, ending: RunEnding, strays: readonly StrayProcess[] = []): void {
  const open = openRun(driver.state);
  if (open === null) return;
  const as = classify(open, ending, driver.state.policy);
  const jitter = driver.ports.chance();
  const more = strays.length === 0 ? {} : { strays };
  driver.append({ type: 'run.ended', run: open.id, ending, as, jitter, ...more });
}
