/** What a hook tells people, as document 004 words it: a line in the log and a toast. */
import type { Answer } from '../answer.ts';
import { cancelledText } from '../command-text.ts';
import { HOOK_NAME } from './constants.ts';
import type { Toast } from './types.ts';
import type { LogDetails, RalphLog } from '../log.ts';
import type { RalphLoopState } from '../session-file.ts';

export interface Announcer {
  readonly info: (message: string, details?: LogDetails) => void;
  readonly warn: (message: string, details?: LogDetails) => void;
  readonly error: (message: string, details?: LogDetails) => void;
  /** A toast that fails changes nothing for the loop. */
  readonly toast: (toast: Toast) => void;
  /** A line in the session that stays. */
  readonly note: (session: string, text: string) => void;
}

/** A log that fails changes nothing for the loop. */
export function harmless(log: RalphLog): RalphLog {
  const safe =
    (level: keyof RalphLog): RalphLog['info'] =>
    (message, details) => {
      // There is no other place to say so.
      attempt(
        () => log[level](message, details),
        () => {},
      );
    };
  return { info: safe('info'), warn: safe('warn'), error: safe('error') };
}

export function announcer(
  log: RalphLog,
  showToast: (toast: Toast) => void,
  showNote: (session: string, text: string) => void = () => {},
): Announcer {
  return {
    info: (message, details) => log.info(`[${HOOK_NAME}] ${message}`, details),
    warn: (message, details) => log.warn(`[${HOOK_NAME}] ${message}`, details),
    error: (message, details) => log.error(`[${HOOK_NAME}] ${message}`, details),
    toast(toast) {
      attempt(
        () => showToast(toast),
        (error) =>
          log.warn(`[${HOOK_NAME}] Failed to show a toast`, { title: toast.title, error: String(error) }),
      );
    },
    note(session, text) {
      attempt(
        () => showNote(session, text),
        (error) =>
          log.warn(`[${HOOK_NAME}] Failed to show a note`, { sessionId: session, error: String(error) }),
      );
    },
  };
}

/** Calls a function of the host program, which may be async although its result is not used. */
function attempt(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    Promise.resolve(call()).catch(failed);
  } catch (error) {
    failed(error);
  }
}

export function announceStart(to: Announcer, state: RalphLoopState): void {
  const { sessionId, maxIterations, completionPromise } = state;
  to.info('Loop started', { sessionId, maxIterations, completionPromise });
  to.toast({
    title: 'Ralph Loop Started',
    message: `Max ${maxIterations} iterations. Complete with <promise>${completionPromise}</promise>`,
    variant: 'info',
    duration: 3000,
  });
}

export function announceFailedStart(to: Announcer, sessionId: string, message: string): void {
  to.error('Failed to start loop', { sessionId, error: message });
  to.toast({ title: 'Ralph Loop Not Started', message, variant: 'error', duration: 5000 });
}

export function announceCancel(to: Announcer, state: RalphLoopState): void {
  const { sessionId, iteration } = state;
  to.info('Loop cancelled', { sessionId, iteration });
  toastCancelled(to, state);
}

export function toastCancelled(to: Announcer, state: RalphLoopState): void {
  const { sessionId, iteration } = state;
  to.note(sessionId, cancelledText(state));
  to.toast({
    title: 'Ralph Loop Cancelled',
    message: `Stopped at iteration ${iteration}`,
    variant: 'info',
    duration: 2000,
  });
}

/** What a step has decided. */
export function announceAnswer(to: Announcer, answer: Exclude<Answer, { type: 'none' }>): void {
  const { sessionId, iteration, maxIterations: max, completionPromise } = answer.state;
  // A person who looks at the session later sees neither toasts nor the log. A new prompt is there anyway.
  if (answer.type !== 'continue') to.note(sessionId, answer.message);
  switch (answer.type) {
    case 'continue':
      to.info('Continuing loop', { sessionId, iteration, max });
      to.toast({
        title: 'Ralph Loop',
        message: `Iteration ${iteration}/${max}`,
        variant: 'info',
        duration: 2000,
      });
      // The last one: a program that shows one toast at a time would hide it.
      if (answer.rejected.length > 0) announceRejection(to, sessionId, answer.rejected);
      return;
    case 'waiting':
      to.info('Loop is waiting', { sessionId, iteration, why: answer.message });
      to.toast({ title: 'Ralph Loop Waiting', message: answer.message, variant: 'warning', duration: 5000 });
      return;
    case 'ended':
      switch (answer.outcome) {
        case 'done':
          to.info('Completion detected!', { sessionId, iteration, promise: completionPromise });
          to.toast({
            title: 'Ralph Loop Complete!',
            message: `Task completed after ${iteration} iteration(s)`,
            variant: 'success',
            duration: 5000,
          });
          return;
        case 'iterations-exhausted':
          to.info('Max iterations reached', { sessionId, iteration, max });
          to.toast(stopped(`Max iterations (${max}) reached without completion`));
          return;
        default:
          to.info('Loop ended', { sessionId, iteration, outcome: answer.outcome });
          to.toast(stopped(answer.message));
      }
  }
}

/** Checks run for longer than a moment. */
export function announceChecks(to: Announcer, session: string, checks: readonly string[]): void {
  to.info('Checks running', { sessionId: session, checks });
  to.note(
    session,
    `Ralph loop: running the ${checks.length === 1 ? 'check' : 'checks'} ${checks.join(', ')}`,
  );
}

/** A step that was not taken: the loop stays as it is. */
export function announceFailedStep(to: Announcer, session: string, message: string): void {
  to.error('Failed to increment iteration', { sessionId: session, error: message });
  to.note(session, `Ralph loop: not continued: ${message}`);
}

function announceRejection(to: Announcer, sessionId: string, rejected: readonly string[]): void {
  to.info('Completion rejected', { sessionId, failing: rejected });
  to.toast({
    title: 'Ralph Loop: Promise Rejected',
    message: `Failing: ${rejected.join(', ')}`,
    variant: 'warning',
    duration: 5000,
  });
}

function stopped(message: string): Toast {
  return { title: 'Ralph Loop Stopped', message, variant: 'warning', duration: 5000 };
}
