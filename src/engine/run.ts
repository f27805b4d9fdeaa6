/**
 * One agent run, from its plan to its end.
 *
 * 1. `run.planned` is synced before anything is started.
 * 2. It ends when its process ends, when its stream said that it has finished and the process does not go within the
 *    grace, at a time limit, at the output limit, or when it is not wanted any more.
 * 3. However it ends, everything that it started is ended before `run.ended` is written.
 */
import type { RunReader } from '../agents/reader.ts';
import { NotStarted, type HostedRun } from '../hosts/host.ts';
import { decide } from '../loop/decide.ts';
import type { OutputSnapshot, RunEnding, StrayProcess } from '../loop/event.ts';
import { classify } from '../loop/failure.ts';
import { openRun } from '../loop/run.ts';
import type { Run } from '../loop/state.ts';
import type { Driver, EffectOf } from './ports.ts';
import { RunWatch, type Reason } from './run-watch.ts';
import type { Task } from './task.ts';

/** Plans a run, or finds the one that was planned, and sees it to its end. */
export async function performRun(driver: Driver, effect: EffectOf<'run'>, task: Task): Promise<void> {
  const { run: id, purpose } = effect;
  const { host } = driver.ports;
  const known = openRun(driver.state);
  const request = { run: id, receipt: known?.receipt ?? null };
  let live = known === null ? null : await host.find(request);
  if (known === null && effect.respectsSharedLimit && waitsForOthers(driver)) return;
  if (live === null) {
    // Also for a run that was planned before: its owner may have died over a prompt that could not be written.
    const prompt = await driver.ports.workspace.writePrompt(effect);
    if (known === null) {
      if (task.interrupted.aborted || !stillWants(driver, effect)) return;
      const { guidance } = effect;
      const written = 'error' in prompt ? null : prompt;
      if (!driver.report({ type: 'run.planned', run: id, purpose, guidance, prompt: written })) return;
    }
    if ('error' in prompt) return close(driver, { how: 'not-started', error: prompt.error });
    // Neither what is not wanted any more is started, nor what could not be synced.
    driver.sync();
    if (task.interrupted.aborted) return close(driver, { how: 'interrupted' });
    try {
      live = await host.start(request);
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
      return close(driver, { how: 'not-started', error: error.error });
    }
  }
  if (openRun(driver.state)?.receipt === null) {
    driver.report({ type: 'run.started', run: id, receipt: live.receipt });
  }
  await follow(driver, live, task);
}

/** Whether another loop of the account has met a limit that this one has to sit out too. */
function waitsForOthers(driver: Driver): boolean {
  const { clock, workspace, chance } = driver.ports;
  const limit = workspace.knownLimit(Math.max(driver.state.now, clock.now()));
  if (limit === null) return false;
  const { resetsAt, message } = limit;
  return driver.append({ type: 'limit.shared', resetsAt, message, jitter: chance() });
}

/** Ends a run that nobody wants any more, if it is there. */
export async function endRun(driver: Driver, { id, receipt }: Run): Promise<void> {
  const live = await driver.ports.host.find({ run: id, receipt });
  if (live === null) return close(driver, { how: 'interrupted' });
  const open = openRun(driver.state);
  if (open === null) return;
  try {
    const reader = driver.ports.workspace.read(open, driver.state);
    live.follow((chunk, stream) => {
      if (stream === 'stdout') reader.read(chunk);
      else reader.complain(chunk);
    });
    await finish(driver, live, reader, 'read', () => ({ how: 'interrupted' }));
  } catch {
    await endUnread(driver, live);
  }
}

/** What nobody can read is ended all the same. */
async function endUnread(driver: Driver, live: HostedRun): Promise<void> {
  const strays = await live.stop(driver.state.policy.timeouts.killGraceMs);
  await live.close('leave');
  close(driver, { how: 'interrupted' }, strays);
}

function stillWants(driver: Driver, { key }: EffectOf<'run'>): boolean {
  return decide(driver.state).some((effect) => effect.key === key);
}

/** Watches a run until there is a reason to end it, or none to go on. */
async function follow(driver: Driver, live: HostedRun, task: Task): Promise<void> {
  const open = openRun(driver.state);
  if (open === null) return;
  let reader: RunReader;
  try {
    reader = driver.ports.workspace.read(open, driver.state);
  } catch (error) {
    await endUnread(driver, live);
    throw error;
  }
  const watch = new RunWatch(driver, open, live, reader, task);
  const reason = await watch.reason;
  watch.close();
  // More than enough was read already.
  const rest = reason === 'output' ? 'leave' : 'read';
  await finish(driver, live, reader, rest, (code) =>
    endingFor(reason === 'exited' && watch.hasFlooded ? 'output' : reason, code, reader),
  );
}

function endingFor(reason: Reason, code: number | null, reader: RunReader): RunEnding {
  switch (reason) {
    case 'exited':
    case 'finished':
    case 'hopeless':
      return { how: 'exited', code, error: reader.error };
    case 'interrupted':
      return { how: 'interrupted' };
    case 'wall':
    case 'total':
    case 'inactivity':
    case 'output':
      return { how: 'timed-out', which: reason };
  }
}

/** Ends everything, reads the last of the output, and writes what it came to. */
async function finish(
  driver: Driver,
  live: HostedRun,
  reader: RunReader,
  rest: 'read' | 'leave',
  ending: (code: number | null) => RunEnding,
): Promise<void> {
  const strays = await live.stop(driver.state.policy.timeouts.killGraceMs);
  const code = await live.close(rest);
  reader.end();
  const open = openRun(driver.state);
  if (open === null) return;
  const last = reader.snapshot(true);
  if (!same(last, open.output)) driver.append({ type: 'run.output', run: open.id, ...last });
  for (const change of driver.ports.workspace.family(driver.state)) driver.append(change);
  close(driver, ending(code), strays);
}

function same(a: OutputSnapshot, b: OutputSnapshot): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function close(driver: Driver, ending: RunEnding, strays: readonly StrayProcess[] = []): void {
  const open = openRun(driver.state);
  if (open === null) return;
  const as = classify(open, ending, driver.state.policy);
  const jitter = driver.ports.chance();
  const more = strays.length === 0 ? {} : { strays };
  driver.append({ type: 'run.ended', run: open.id, ending, as, jitter, ...more });
}
