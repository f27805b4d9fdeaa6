import { setFlagsFromString } from 'node:v8';
import type { EndRecord } from '../store/end-record.ts';
import type { EndedLoop } from '../views/loop-result.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { workOf } from '../views/worktrees.ts';
import { Console, detailLine, paint } from './console.ts';
import type { ViewOptions } from './options.ts';
import { isError, summary } from './summary.ts';

/** Drives a loop in the foreground, shows it, and tells what to exit with; `ended` is told once it does not go on. */
export async function drive(
  loop: OwnedLoop,
  options: ViewOptions,
  ended?: (loop: EndedLoop) => void,
): Promise<number> {
  const code = await driveOn(loop, options);
  ended?.(loop);
  return code;
}

async function driveOn(loop: OwnedLoop, options: ViewOptions): Promise<number> {
  // A loop makes little garbage for hours: the room for it need not grow, and the process stays as small as it began.
  setFlagsFromString('--semi-space-growth-factor=1');
  const view = new Console(loop.spec, options, (text) => loop.mask(text));
  const onSignal = (signal: 'SIGINT' | 'SIGTERM') => (): void => loop.receive({ type: 'signal', signal });
  const onInterrupt = onSignal('SIGINT');
  const onTerminate = onSignal('SIGTERM');
  process.on('SIGINT', onInterrupt).on('SIGTERM', onTerminate).on('SIGHUP', onHangup);
  try {
    for (const note of loop.notes) view.status(note);
    const { worktree } = loop.spec;
    if (worktree !== undefined) view.status(`works in ${worktree.path} (branch ${worktree.branch})`);
    if (options.quiet !== true) view.line(detailLine(`Agent command: ${loop.shownCommand}`, options));
    const stop = await loop.drive(view);
    view.close();
    if (stop.why === 'lost') {
      const record = { ...loop.end(), status: 'fatal', reason: stop.error.message, exitCode: 3 };
      if (options.json === true) process.stdout.write(`${JSON.stringify(record)}\n`);
      view.line(`ralph: error: ${stop.error.message}; what was written before is intact`);
      view.line(`  go on with  ralph resume ${loop.spec.name}`);
      return 3;
    }
    if (stop.why === 'paused') view.status('paused, exiting loop');
    return await finish(view, loop.end(), loop.spec, options);
  } catch (error) {
    view.close();
    view.line(`ralph: internal error: ${error instanceof Error ? error.stack : String(error)}`);
    view.line(
      `Nothing is lost: go on with ralph resume ${loop.spec.name}, which finds a running agent again.`,
    );
    return 3;
  } finally {
    view.close();
    process.off('SIGINT', onInterrupt).off('SIGTERM', onTerminate).off('SIGHUP', onHangup);
  }
}

/** Says how it ended, in text and as a record, and what to exit with. */
export async function finish(
  view: Console,
  end: EndRecord,
  spec: OwnedLoop['spec'],
  options: ViewOptions,
): Promise<number> {
  view.close();
  const work = await workOf(spec, startersEnvironment(process.env));
  if (options.json === true) process.stdout.write(`${JSON.stringify(end)}\n`);
  const colour = end.exitCode === 0 ? 'green' : 'red';
  view.line(`${paint('bold', `ralph: ${end.name}`)} ${paint(colour, end.status)}`);
  if (isError(end)) view.line(`ralph: error: ${end.reason}`);
  for (const line of summary(end, work)) view.line(line);
  return end.exitCode;
}

/** The terminal may go; the loop goes on. */
function onHangup(): void {}
