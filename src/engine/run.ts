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
import type { Happening, OutputSnapshot, RunEnding, StrayProcess } from '../loop/event.ts';
import { classify } from '../loop/failure.ts';
import { openRun } from '../loop/run.ts';
import type { LoopState, Run } from '../loop/state.ts';
import type { Ports, Wanted } from './ports.ts';
import type { Task } from './task.ts';

/** What a run needs of the engine. */
interface Driver {
  readonly ports: Ports;
  readonly state: LoopState;
  append(happening: Happening): boolean;
  report(happening: Happening): boolean;
  sync(): void;
}

/** Plans a run, or finds the one that was planned, and sees it to its end. */
export async function performRun(driver: Driver, effect: Wanted<'run'>, task: Task): Promise<void> {
  const { run: id, purpose } = effect;
  const { host } = driver.ports;
  const known = openRun(driver.state);
  if (known === null) {
    const prompt = await driver.ports.workspace.writePrompt(effect);
    if (task.interrupted.aborted || !stillWants(driver, effect)) return;
    const { guidance } = effect;
    const written = 'error' in prompt ? null : prompt;
    if (!driver.report({ type: 'run.planned', run: id, purpose, guidance, prompt: written })) return;
    if ('error' in prompt) return close(driver, { how: 'not-started', error: prompt.error });
    // A control may have come in between: nothing is started that is not wanted any more.
    if (task.interrupted.aborted) return close(driver, { how: 'interrupted' });
    driver.sync();
  }
  const request = { run: id, receipt: known?.receipt ?? null };
  let live: HostedRun | null;
  try {
    live = known === null ? null : await host.find(request);
    if (live === null && task.interrupted.aborted) return close(driver, { how: 'interrupted' });
    live ??= await host.start(request);
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    return close(driver, { how: 'not-started', error: error.error });
  }
  if (openRun(driver.state)?.receipt === null) {
    driver.report({ type: 'run.started', run: id, receipt: live.receipt });
  }
  await follow(driver, live, task);
}

/** Ends a run that nobody wants any more, if it is there. */
export async function endRun(driver: Driver, { id, receipt }: Run): Promise<void> {
  const live = await driver.ports.host.find({ run: id, receipt });
  if (live === null) return close(driver, { how: 'interrupted' });
  const open = openRun(driver.state);
  if (open === null) return;
  const reader = driver.ports.workspace.read(open, driver.state);
  live.follow((chunk, stream) => {
    if (stream === 'stdout') reader.read(chunk);
  });
  await finish(driver, live, reader, () => ({ how: 'interrupted' }));
}

function stillWants(driver: Driver, { key }: Wanted<'run'>): boolean {
  return decide(driver.state).some((effect) => effect.key === key);
}

/** Watches a run until there is a reason to end it, or none to go on. */
async function follow(driver: Driver, live: HostedRun, task: Task): Promise<void> {
  const { clock, workspace, observer } = driver.ports;
  const open = openRun(driver.state);
  if (open === null) return;
  const reader = workspace.read(open, driver.state);
  let bytes = 0;
  let activeAt = clock.now();
  let publishedAt = clock.now();
  let saidAt: number | null = null;
  let alarms: (() => void)[] = [];

  const reason = await new Promise<Reason>((resolve) => {
    const effect = (): Wanted<'run'> | null => (task.effect.type === 'run' ? task.effect : null);
    let armedFor = '';
    const inactive = async (): Promise<void> => {
      const limit = effect()?.inactivityMs ?? null;
      if (limit === null) return;
      const changedAt = reader.hasOpenTool ? clock.now() : await workspace.changedAfter(activeAt);
      activeAt = Math.max(activeAt, changedAt ?? 0);
      if (clock.now() - activeAt >= limit) return resolve('inactivity');
      armedFor = '';
      arm();
    };
    const arm = (): void => {
      const now = effect();
      if (now === null) return;
      const plannedAt = now.plannedAt ?? open.plannedAt;
      const moments: [number | null, () => void][] = [
        [now.timeoutMs === null ? null : plannedAt + now.timeoutMs, () => resolve('wall')],
        [now.notAfter, () => resolve('total')],
        [saidAt === null ? null : saidAt + now.killGraceMs, () => resolve('finished')],
        [now.inactivityMs === null ? null : activeAt + now.inactivityMs, () => void inactive()],
      ];
      // Output moves only the last of them, and its alarm looks again by itself.
      const wanted = moments.slice(0, 3).map(([moment]) => moment).join() + String(now.inactivityMs);
      if (wanted === armedFor) return;
      armedFor = wanted;
      for (const cancel of alarms) cancel();
      alarms = moments.flatMap(([moment, ring]) => (moment === null ? [] : [clock.at(moment, ring)]));
    };
    const publish = (): void => {
      publishedAt = clock.now();
      driver.report({ type: 'run.output', run: open.id, ...reader.snapshot(false) });
    };

    task.onChange(arm);
    task.interrupted.addEventListener('abort', () => resolve('interrupted'));
    if (task.interrupted.aborted) resolve('interrupted');
    void live.ended.then(() => resolve('exited'));
    arm();
    live.follow((chunk, stream) => {
      activeAt = clock.now();
      bytes += chunk.length;
      observer.output?.(open, chunk, stream);
      const limit = effect()?.outputBytes ?? null;
      if (limit !== null && bytes > limit) resolve('output');
      if (stream === 'stderr') return;
      const hasNews = reader.read(chunk);
      if (saidAt === null && reader.snapshot(false).said !== null) {
        saidAt = activeAt;
        arm();
      }
      if (hasNews || activeAt - publishedAt >= PUBLISH_EVERY_MS) publish();
    });
  });
  for (const cancel of alarms) cancel();
  task.onChange(() => {});
  await finish(driver, live, reader, (code) => endingFor(reason, code, reader));
}

/** How far a viewer may be behind after a crash. */
const PUBLISH_EVERY_MS = 5000;

type Reason = 'exited' | 'finished' | 'interrupted' | 'wall' | 'total' | 'inactivity' | 'output';

function endingFor(reason: Reason, code: number | null, reader: RunReader): RunEnding {
  switch (reason) {
    case 'exited':
    case 'finished':
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
  ending: (code: number | null) => RunEnding,
): Promise<void> {
  const strays = await live.stop(driver.state.policy.timeouts.killGraceMs);
  const code = await live.close();
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
