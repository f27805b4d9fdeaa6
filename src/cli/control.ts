import { readFileSync } from 'node:fs';
import type { LoopReading } from '../store/read-loop.ts';
import { questionFor } from '../loop/questions.ts';
import type { WordingPolicy } from '../loop/policy.ts';
import { isInSession } from '../store/spec.ts';
import { queuedControls } from '../store/inbox.ts';
import { UserError } from '../user-error.ts';
import { brief } from './brief.ts';
import {
  findOwned,
  refuseDone,
  refuseEnded,
  refuseEndedInSession,
  refuseUnreadable,
  sendTo,
} from './loops.ts';
import { textsOf } from './wording.ts';
import { workspaceOf } from './workspace.ts';
import { warn } from './print.ts';

interface Where {
  readonly cwd?: string;
}

/** `ralph pause`: lets the running agent finish, and starts nothing after it. The texts are those of its preset, or `wording`. */
export async function pause(name: string, options: Where, wording?: WordingPolicy): Promise<number> {
  const loop = await findOwned(workspaceOf(options), name);
  refuseEnded(loop);
  const texts = textsOf(wording ?? loop.state.policy.wording);
  if (loop.state.control.paused) {
    warn(`ralph: warning: ${texts.alreadyPaused(name)}\n`);
    return 0;
  }
  if (loop.owner === null && loop.trouble === null && !isInSession(loop.spec)) {
    const { nothingToPause } = await import('../owner/unfinished-loops.ts');
    warn(`ralph: warning: ${nothingToPause(loop)}\n`);
    return 0;
  }
  return sendTo(loop, { type: 'pause' }, texts.paused(name));
}

/** `ralph stop`: stops a loop after the running step, or with `--now` at once. */
export async function stop(name: string, options: StopOptions): Promise<number> {
  const loop = await findOwned(workspaceOf(options), name);
  if (options.tree !== true) return stopOne(loop, options);
  const { stopTree } = await import('./stop-tree.ts');
  return stopTree(loop, (one) => stopOne(one, options));
}

export interface StopOptions extends Where {
  readonly now?: boolean;
  readonly tree?: boolean;
}

async function stopOne(loop: LoopReading, options: StopOptions): Promise<number> {
  const { name } = loop.spec;
  if (loop.state.outcome !== null) {
    warn(`ralph: warning: loop ${name} has already ended\n`);
    return 0;
  }
  refuseUnreadable(loop);
  // The turn of a session is not ours to wait for: it ends by itself, and nothing follows it.
  const now = options.now === true || isInSession(loop.spec);
  const stopUnowned = async (): Promise<number> => {
    const { stopOrphan } = await import('./stop-orphan.ts');
    return stopOrphan(loop, now);
  };
  if (loop.owner === null) return stopUnowned();
  return sendTo(
    loop,
    { type: 'stop', now, by: 'person' },
    now ? `stopping ${name} now` : `stopping ${name} after the running step`,
    // The step of a session may just have ended, and the next one may be hours away.
    isInSession(loop.spec) ? stopUnowned : null,
  );
}

/** `ralph tell`: adds words to the agent's next prompt; `-` stands for stdin. */
export async function tell(name: string, words: string, options: Where): Promise<number> {
  const text = wordsOrStdin(words);
  if (text.trim() === '')
    throw new UserError('the message is empty: ralph tell NAME "words for the next prompt"');
  const loop = await findOwned(workspaceOf(options), name);
  refuseEndedInSession(loop);
  if (loop.state.outcome?.type === 'done')
    throw new UserError(`loop ${name} is already done; start a new one with: ralph run`);
  return sendTo(loop, { type: 'tell', text }, `delivered to ${name}; it goes into the next prompt`);
}

/** `ralph answer`: answers a question of the agent, the oldest one unless another is named; `-` stands for stdin. */
export async function answer(
  name: string,
  words: string,
  options: Where & { readonly question?: string },
): Promise<number> {
  const text = wordsOrStdin(words);
  if (text.trim() === '') throw new UserError('the answer is empty: ralph answer NAME "words for the agent"');
  const loop = await findOwned(workspaceOf(options), name);
  refuseUnreadable(loop);
  refuseDone(loop);
  const queued = queuedControls(loop.folder.inbox);
  const answered = new Set(queued.map((one) => (one.type === 'answer' ? one.question : null)));
  const questions = loop.state.questions.filter(({ id }) => !answered.has(id));
  const question = questionFor({ ...loop.state, questions }, options.question ?? null);
  if (question === undefined) {
    const waits = loop.state.questions.length === 0 ? '' : ' (an answer is queued already)';
    throw new UserError(
      questions.length === 0
        ? `loop ${name} has no open question${waits}; to add words to its next prompt: ralph tell ${name} "…"`
        : `loop ${name} has no open question ${options.question}; expected one of ${questions.map(({ id }) => id).join(', ')}`,
    );
  }
  return sendTo(
    loop,
    { type: 'answer', question: question.id, text },
    `answered ${name}: ${brief(question.text)}`,
  );
}

/** Words on the command line, or for `-` what stdin has: a program need not care how its text begins. */
function wordsOrStdin(words: string): string {
  return words === '-' ? readFileSync(0, 'utf8').trim() : words;
}
