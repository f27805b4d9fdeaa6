/**
 * Sends a control to a loop.
 *
 * 1. A control that cannot mean anything to the loop as it is now is refused before it is sent, with what to do instead.
 * 2. A loop without an owner keeps it in its inbox for the next one. Only a stop does not wait: this process owns the loop until
 *    it has ended.
 */
import type { Control } from '../loop/event.ts';
import { questionFor, type OpenQuestion } from '../loop/questions.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { orphanOf } from '../home/orphan.ts';
import { deliver } from '../home/deliver.ts';
import { queuedControls } from '../home/inbox.ts';
import type { LoopReading } from '../home/read-loop.ts';
import { isInSession } from '../home/spec.ts';
import { UserError } from '../user-error.ts';
import { refuseDone, refuseEnded, refuseEndedInSession, refuseUnreadable } from './find.ts';
import type { ControlRequest, Sent } from './loops.ts';

/** How a loop is driven that this process has to own for a moment. */
export type Drive = (loop: OwnedLoop) => Promise<void>;

/** Without showing anything. If the signal aborts first, the loop is left as it is: what was asked of it is in its journal. */
export async function driveSilently(loop: OwnedLoop, signal?: AbortSignal): Promise<void> {
  const leave = (): void => loop.leave();
  signal?.addEventListener('abort', leave, { once: true });
  const end = await loop.drive().finally(() => signal?.removeEventListener('abort', leave));
  if (end.why === 'left')
    throw new UserError(
      `loop ${loop.spec.name} had no owner and has not ended yet, because its agent still works; stop it at once with: ralph stop ${loop.spec.name} --now`,
      1,
    );
  if (end.why === 'lost') throw new UserError(end.error.message, 3, { cause: end.error });
}

export function sendTo(
  loop: LoopReading,
  control: ControlRequest,
  drive: Drive = driveSilently,
): Promise<Sent> {
  switch (control.type) {
    case 'pause':
      return pause(loop);
    case 'stop':
      return stop(loop, control.now, drive);
    case 'answer':
      return answer(loop, control);
    case 'tell':
      return tell(loop, control.text);
    case 'set':
      return set(loop, control);
    case 'resume':
      return resume(loop, control);
  }
}

async function pause(loop: LoopReading): Promise<Sent> {
  refuseEnded(loop);
  if (loop.state.control.paused) return unneeded({ is: 'paused' });
  if (loop.owner === null && !isInSession(loop.spec))
    return unneeded({ is: 'without owner', agent: orphanOf(loop) });
  return put(loop, { type: 'pause' });
}

async function resume(loop: LoopReading, control: Extract<Control, { type: 'resume' }>): Promise<Sent> {
  const { paused, stop: stopping } = loop.state.control;
  if (!isInSession(loop.spec) && !paused && stopping === null && !control.now)
    return unneeded({ is: 'not paused' });
  return put(loop, control);
}

async function stop(loop: LoopReading, now: boolean, drive: Drive): Promise<Sent> {
  if (loop.state.outcome !== null) return unneeded({ is: 'ended' });
  refuseUnreadable(loop);
  // The turn of a session is not ours to wait for: it ends by itself, and nothing follows it.
  const control = { type: 'stop', now: now || isInSession(loop.spec), by: 'person' } as const;
  if (loop.owner === null) return endHere(loop, control, drive);
  const sent = await put(loop, control);
  // The step of a session may just have ended, and the next one may be hours away.
  if (sent.is === 'queued' && isInSession(loop.spec)) return endHere(loop, control, drive);
  return sent.is === 'taken' ? { ...sent, now: control.now } : sent;
}

async function endHere({ spec }: LoopReading, control: Control, drive: Drive): Promise<Sent> {
  const { endOrphan } = await import('./own-here.ts');
  await endOrphan(spec, control, drive);
  return { is: 'ended' };
}

async function tell(loop: LoopReading, text: string): Promise<Sent> {
  if (text.trim() === '')
    throw new UserError('the message is empty: ralph tell NAME "words for the next prompt"');
  refuseEndedInSession(loop);
  if (loop.state.outcome?.type === 'done')
    throw new UserError(`loop ${loop.spec.name} is already done; start a new one with: ralph run`);
  return put(loop, { type: 'tell', text });
}

async function answer(loop: LoopReading, control: Extract<Control, { type: 'answer' }>): Promise<Sent> {
  if (control.text.trim() === '')
    throw new UserError('the answer is empty: ralph answer NAME "words for the agent"');
  refuseUnreadable(loop);
  refuseDone(loop);
  const question = openQuestion(loop, control.question);
  const sent = await put(loop, { ...control, question: question.id });
  return sent.is === 'taken' ? { ...sent, question } : sent;
}

/** The question that is named, or the oldest one, of those that no queued answer is for. */
function openQuestion({ spec, state, folder }: LoopReading, id: string | null): OpenQuestion {
  const queued = queuedControls(folder.inbox);
  const answered = new Set(queued.map((one) => (one.type === 'answer' ? one.question : null)));
  const questions = state.questions.filter((one) => !answered.has(one.id));
  const question = questionFor({ ...state, questions }, id);
  if (question !== undefined) return question;
  const { name } = spec;
  const waits = state.questions.length === 0 ? '' : ' (an answer is queued already)';
  throw new UserError(
    questions.length === 0
      ? `loop ${name} has no open question${waits}; to add words to its next prompt: ralph tell ${name} "…"`
      : `loop ${name} has no open question ${id}; expected one of ${questions.map((one) => one.id).join(', ')}`,
  );
}

async function set(loop: LoopReading, control: Extract<Control, { type: 'set' }>): Promise<Sent> {
  refuseEnded(loop);
  const [{ checkSpendLimits }, { setLimits }] = await Promise.all([
    import('../owner/money.ts'),
    import('../home/family.ts'),
  ]);
  await checkSpendLimits(control.limits, loop.spec.agent);
  if (loop.owner === null) setLimits(loop.spec, control.limits);
  return put(loop, control);
}

/** Puts a control into the loop's inbox, and waits a moment for its owner. */
async function put(loop: LoopReading, control: Control): Promise<Sent> {
  refuseUnreadable(loop);
  refuseEndedInSession(loop);
  const { spec, state, owner } = loop;
  switch (await deliver(loop, control)) {
    case 'queued':
      return {
        is: 'queued',
        until: !isInSession(spec) ? 'resumed' : state.control.paused ? 'next turn' : 'end of turn',
      };
    case 'delivered':
      return { is: 'taken' };
    case 'refused':
      throw new UserError(`loop ${spec.name} rejected the request ${JSON.stringify(control)}`);
    case 'unanswered':
      return { is: 'unanswered', owner };
  }
}

function unneeded(why: Extract<Sent, { is: 'unneeded' }>['why']): Sent {
  return { is: 'unneeded', why };
}
