/** How far a request to a loop has come: which event took it, and which one did what it asks for. */
import type { Told } from '../loops/events.ts';
import type { ControlRequest, LoopView } from '../loops/loops.ts';
import type { LoopEvent } from '../loop/event.ts';

export interface Progress {
  /** The number of the event; null before it. */
  readonly taken: number | null;
  readonly done: number | null;
}

/** `since` is the number of the last event before the request. */
export function progressOf(
  kind: ControlRequest['type'],
  since: number,
  told: readonly Told[],
  { summary }: Pick<LoopView, 'summary'>,
): Progress {
  const events = told.flatMap((one) => (one.is === 'event' && one.number > since ? [one] : []));
  const at = events.findIndex(({ event }) => takes(kind, event));
  const taken = events[at]?.number ?? null;
  if (taken === null) return { taken: null, done: null };
  switch (kind) {
    case 'set':
    case 'resume':
      return { taken, done: taken };
    case 'pause':
      // The running iteration may go on until its end.
      return {
        taken,
        done: summary.status === 'paused' && summary.waiting === null ? numberOf(events.at(-1)) : null,
      };
    case 'stop':
      return { taken, done: numberOf(events.find(({ event }) => event.type === 'loop.ended')) };
    case 'tell':
    case 'answer': {
      const passedOn = ({ event }: (typeof events)[number]): boolean =>
        event.type === 'run.planned' && event.guidance.length > 0;
      return { taken, done: numberOf(events.slice(at).find(passedOn)) };
    }
  }
}

function takes(kind: ControlRequest['type'], event: LoopEvent): boolean {
  if (event.type === 'control.received') return event.control.type === kind;
  return kind === 'resume' && event.type === 'loop.reopened';
}

function numberOf(told: { readonly number: number } | undefined): number | null {
  return told?.number ?? null;
}
