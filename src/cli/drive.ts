import { type EndedLoop, lostEnd } from '../loops/result.ts';
import type { EndRecord, OwnedLoop } from '../loops/loops.ts';
import { UserError } from '../user-error.ts';
import { sandboxAnswers } from '../loops/sandbox-answers.ts';
import { sandboxLine } from '../text/status.ts';
import { Console, detailLine } from './console.ts';
import { littleMemory } from './little-memory.ts';
import type { ViewOptions } from './options.ts';
import { printJson } from './print.ts';
import { paint } from './screen.ts';
import { keepAwakeForChildren } from '../background/background.ts';
import { isError, summary } from '../text/summary.ts';
import { asTyped } from './typed-name.ts';

/** Drives a loop in the foreground and shows it; returns the exit code. Calls `ended` when it ends or pauses. */
export async function drive(
  loop: OwnedLoop,
  options: ViewOptions,
  ended?: (loop: EndedLoop) => Promise<void>,
): Promise<number> {
  const code = await driveOn(loop, options);
  await ended?.(loop);
  const { outcome, control } = loop.state;
  if (loop.spec.window !== undefined && (outcome !== null || control.paused)) {
    const { closeUnseenWindow } = await import('../loops/window.ts');
    await closeUnseenWindow(loop.spec).catch(() => {});
  }
  return code;
}

async function driveOn(loop: OwnedLoop, options: ViewOptions): Promise<number> {
  const view = new Console(loop.spec, options, loop.mask);
  const onSignal = (signal: 'SIGINT' | 'SIGTERM') => (): void => loop.receive({ type: 'signal', signal });
  const onInterrupt = onSignal('SIGINT');
  const onTerminate = onSignal('SIGTERM');
  process.on('SIGINT', onInterrupt).on('SIGTERM', onTerminate).on('SIGHUP', onHangup);
  const stopWaking = keepAwakeForChildren(loop);
  try {
    for (const note of loop.notes) view.status(note);
    const { worktree } = loop.spec;
    if (worktree !== undefined) view.status(`working in ${worktree.path} (branch ${worktree.branch})`);
    // A loop inside a session starts no command.
    if (options.quiet !== true && loop.shownCommand !== '') {
      const { datedStamps } = loop.state.policy.wording;
      view.line(detailLine(`Agent command: ${loop.shownCommand}`, options, datedStamps));
    }
    const { sandbox, host } = loop.state.policy;
    if (host === 'tmux') view.status(`the agent's terminal: ralph attach ${loop.spec.name}`);
    if (sandbox !== null) {
      view.status(sandboxLine(sandbox));
      loop.serveSandbox(sandboxAnswers);
    }
    loop.observe(littleMemory());
    const stop = await loop.drive(view);
    view.close();
    if (stop.why === 'lost') {
      const { record, isWhole, remedy } = lostEnd(loop, stop.error);
      if (options.json === true) printRecord(view, record);
      view.say(`ralph: error: ${record.reason}${isWhole ? '; the journal is intact up to here' : ''}`);
      if (remedy !== null) view.say(`  put it back with: ${remedy}`);
      if (isWhole || remedy !== null)
        view.say(`  ${isWhole ? '' : 'then '}resume with: ralph resume ${loop.spec.name}`);
      else view.say(`  what to do: ${record.next}`);
      return record.exitCode;
    }
    if (stop.why === 'paused') view.status('paused, exiting loop');
    return await finish(view, loop.end(), loop.spec, options);
  } catch (error) {
    view.close();
    view.say(`ralph: internal error: ${error instanceof Error ? error.stack : String(error)}`);
    view.say(
      `The journal is intact: ralph resume ${loop.spec.name} continues the loop and reattaches to a running agent.`,
    );
    return 3;
  } finally {
    stopWaking();
    view.close();
    process.off('SIGINT', onInterrupt).off('SIGTERM', onTerminate).off('SIGHUP', onHangup);
  }
}

/** Prints the final report, and the JSON record if asked for; returns the exit code. */
export async function finish(
  view: Console,
  end: EndRecord,
  spec: OwnedLoop['spec'],
  options: ViewOptions,
): Promise<number> {
  view.close();
  const { factsAtEnd } = await import('../loops/facts.ts');
  const facts = await factsAtEnd(spec, end);
  const isPrinted = options.json !== true || printRecord(view, end);
  const colour = end.exitCode === 0 ? 'green' : 'red';
  view.say(`${paint('bold', `ralph: ${end.name}`)} ${paint(colour, end.status)}`);
  if (isError(end)) view.say(`ralph: error: ${end.reason}`);
  const { isTemporary } = options;
  const { width, height } = view;
  const beside = { home: process.env['HOME'], width, height, isTemporary, advise: asTyped };
  for (const line of summary(facts, beside)) view.show(line);
  return isPrinted ? end.exitCode : 3;
}

/** Prints the result for a program; false if stdout does not take it. */
function printRecord(view: Console, record: object): boolean {
  try {
    printJson(view.masked(record));
    return true;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    view.say(`ralph: error: ${error.message}`);
    return false;
  }
}

/** The loop survives its terminal. */
function onHangup(): void {}
