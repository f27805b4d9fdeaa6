/** What a person asks of a loop, by a key or in words, and what has become of it. */
import { followRequest } from '../loops/follow-request.ts';
import type { ControlRequest, LoopRef, Loops } from '../loops/loops.ts';
import { limitsFrom } from '../settings/set-limits.ts';
import { answeredText, sentText, stoppingText, toldText } from '../text/sent.ts';
import { UserError } from '../user-error.ts';
import type { Note } from './model.ts';

/** Carries out the words of a command: `stop --now`, `tell try the other file`. */
export async function carryOut(
  words: string,
  ref: LoopRef,
  { loops, say, signal }: Requester,
): Promise<void> {
  const [verb = '', ...rest] = words.trim().split(/\s+/);
  const text = rest.join(' ');
  const control = controlOf(verb, text, rest);
  if (control !== null) return send(control, ref, { loops, say, signal });
  const other = OTHERS[verb];
  if (other === undefined)
    throw new UserError(`unknown command ${JSON.stringify(verb)}; expected one of ${COMMANDS}`);
  const what = `${verb} ${ref.name}`;
  say({ text: `${what}: asked`, isProblem: false });
  say({ text: `${what}: ${await other(loops, ref, text, signal)}`, isProblem: false });
}

export interface Requester {
  readonly loops: Loops;
  readonly say: (note: Note) => void;
  readonly signal: AbortSignal;
}

function controlOf(verb: string, text: string, words: readonly string[]): ControlRequest | null {
  switch (verb) {
    case 'pause':
      return { type: 'pause' };
    case 'stop':
      return { type: 'stop', now: text === '--now' || text === 'now', by: 'person' };
    case 'tell':
      return { type: 'tell', text };
    case 'answer':
      return { type: 'answer', question: null, text };
    case 'set':
      if (words.length === 0) throw new UserError('name the limits: set max-iterations=20 max-cost=5');
      return { type: 'set', limits: limitsFrom(words) };
    default:
      return null;
  }
}

/** The commands that are no requests to the owner of a loop. */
const OTHERS: Readonly<
  Record<string, (loops: Loops, ref: LoopRef, text: string, signal: AbortSignal) => Promise<string>>
> = {
  async resume(loops, ref, text) {
    const sent = await loops.resume(ref, { limits: {}, now: text === '--now', env: {}, detach: true });
    return sentText(ref, sent, 'done, it continues')?.text ?? 'done';
  },
  async kill(loops, ref, _, signal) {
    const { is } = await loops.kill(ref, { signal });
    return is === 'killed' ? 'done, its agent is gone' : 'it had ended';
  },
  async merge(loops, ref, _, signal) {
    await loops.merge(ref, true, { signal });
    return 'done';
  },
  async rewind(loops, ref, text) {
    if (text === '') throw new UserError('name the iteration: rewind 3, or rewind start');
    await loops.rewind(ref, text);
    return 'done';
  },
  async rm(loops, ref) {
    await loops.remove(ref);
    return 'done';
  },
};

const CONTROLS = ['pause', 'stop', 'tell', 'answer', 'set'];
export const COMMANDS: string = [...CONTROLS, ...Object.keys(OTHERS)].join(', ');

/** Shows each step: queued, taken with the event that says so, done with the event that did it. */
async function send(control: ControlRequest, ref: LoopRef, { loops, say, signal }: Requester): Promise<void> {
  const what = `${control.type} ${ref.name}`;
  let text = `${what}: queued`;
  say({ text, isProblem: false });
  for await (const step of followRequest(loops, ref, control, { signal })) {
    if (step.is === 'sent') {
      const said = sentText(ref, step.sent, DONE[control.type](ref.name, step.sent));
      if (step.sent.is !== 'taken') text = said?.text ?? `${what}: done`;
      say({ text, isProblem: said?.isWarning === true });
      continue;
    }
    text =
      step.is === 'taken'
        ? `${what}: queued → taken (event ${step.number})`
        : `${text} → done (event ${step.number}, ${step.type})`;
    say({ text, isProblem: false });
  }
}

const DONE: Readonly<Record<ControlRequest['type'], typeof stoppingText>> = {
  stop: stoppingText,
  tell: toldText,
  answer: answeredText,
  pause: (name) => `pausing ${name}`,
  resume: (name) => `resuming ${name}`,
  set: (name) => `set for ${name}`,
};
