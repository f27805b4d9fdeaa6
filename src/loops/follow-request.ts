/** What becomes of a request to a loop, with the events of its journal that say so. */
import type { LoopEvent } from '../loop/event.ts';
import { learn } from '../loop/report.ts';
import { openRun } from '../loop/run.ts';
import type { LoopState } from '../loop/state.ts';
import type { From } from './events.ts';
import type { Call, ControlRequest, LoopRef, Loops, Sent } from './loops.ts';

export type RequestStep =
  | { readonly is: 'sent'; readonly sent: Sent }
  /** The number and the type of the event; `taken` is the request itself in the journal, `done` what it was about. */
  | { readonly is: 'taken' | 'done'; readonly number: number; readonly type: LoopEvent['type'] };

/** Sends a request and follows it until it is done. A refusal is thrown. Ends early when the signal of the call aborts. */
export async function* followRequest(
  loops: Pick<Loops, 'events' | 'send'>,
  loop: LoopRef,
  control: ControlRequest,
  call: Call = {},
): AsyncGenerator<RequestStep, void, void> {
  const before = await loops.events(loop, { from: 'snapshot' });
  const [told] = before.told;
  const sent = await loops.send(loop, control, call);
  yield { is: 'sent', sent };
  if (sent.is === 'unneeded' || told?.is !== 'snapshot') return;
  let known = { state: told.state, report: told.report };
  let isTaken = false;
  let from: From = before.next;
  while (call.signal?.aborted !== true) {
    // oxlint-disable-next-line no-await-in-loop -- one page after the other
    const page = await loops.events(loop, { from }, { ...call, wait: WAIT_MS });
    for (const one of page.told) {
      if (one.is !== 'event') continue;
      known = learn(known, one.event);
      const { number, event } = one;
      if (event.type === 'control.received' && event.control.type === control.type && !isTaken) {
        isTaken = true;
        yield { is: 'taken', number, type: event.type };
      }
      if (isTaken && isDone(control, event, known.state))
        return yield { is: 'done', number, type: event.type };
    }
    from = page.next;
  }
}

const WAIT_MS = 30_000;

function isDone({ type }: ControlRequest, event: LoopEvent, state: LoopState): boolean {
  switch (type) {
    case 'stop':
      return state.outcome !== null;
    case 'pause':
      return (
        state.outcome !== null ||
        (state.control.paused && openRun(state) === null && !state.turn.checksStarted)
      );
    case 'tell':
      // The words go into the prompt of the next run.
      return state.outcome !== null || event.type === 'run.planned';
    case 'answer':
    case 'resume':
    case 'set':
      return true;
  }
}
