import { readFileSync } from 'node:fs';
import type { WordingPolicy } from '../loop/policy.ts';
import { hall } from './hall.ts';
import type { LoopRef, Sent, StoppedOne, Unneeded } from '../loops/loops.ts';
import { brief } from '../text/one-line.ts';
import { textsOf } from '../text/wording.ts';
import { drive } from './drive.ts';
import { print, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

interface Where {
  readonly cwd?: string;
}

/** `ralph pause`: lets the running agent finish, and starts nothing after it. The texts are those of its preset, or `wording`. */
export async function pause(name: string, options: Where, wording?: WordingPolicy): Promise<number> {
  const loops = hall();
  const loop = await loops.find(name, workspaceOf(options));
  const sent = await loops.send(loop, { type: 'pause' });
  const texts = textsOf(wording ?? (await loops.get(loop)).state.policy.wording);
  return tellSent(loop, sent, texts.paused(name), { paused: texts.alreadyPaused(name) });
}

/** `ralph stop`: stops a loop after the running step, or with `--now` at once. */
export async function stop(name: string, options: StopOptions): Promise<number> {
  const { now = false, tree = false } = options;
  let driven = 0;
  const loops = hall({
    async drive(owned) {
      if ((await drive(owned, {})) === 3) driven = 3;
    },
  });
  const loop = await loops.find(name, workspaceOf(options));
  const sent = tree
    ? await loops.stopTree(loop, now)
    : [{ loop, sent: await loops.send(loop, { type: 'stop', now, by: 'person' }) }];
  return Math.max(driven, ...sent.map((one) => tellStopped(one)));
}

export interface StopOptions extends Where {
  readonly now?: boolean;
  readonly tree?: boolean;
}

function tellStopped({ loop, sent }: StoppedOne): number {
  if (sent.is !== 'problem')
    return tellSent(
      loop,
      sent,
      `stopping ${loop.name} ${sent.is === 'taken' && sent.now === true ? 'now' : 'after the running step'}`,
    );
  warn(`ralph: error: ${sent.message}\n`);
  return sent.exitCode;
}

/** `ralph tell`: adds words to the agent's next prompt; `-` stands for stdin. */
export async function tell(name: string, words: string, options: Where): Promise<number> {
  const loops = hall();
  const text = wordsOrStdin(words);
  const loop = await loops.find(name, workspaceOf(options));
  const sent = await loops.send(loop, { type: 'tell', text });
  return tellSent(loop, sent, `delivered to ${name}; it goes into the next prompt`);
}

/** `ralph answer`: answers a question of the agent, the oldest one unless another is named; `-` stands for stdin. */
export async function answer(
  name: string,
  words: string,
  options: Where & { readonly question?: string },
): Promise<number> {
  const loops = hall();
  const text = wordsOrStdin(words);
  const loop = await loops.find(name, workspaceOf(options));
  const { question = null } = options;
  const sent = await loops.send(loop, { type: 'answer', question, text });
  const asked = sent.is === 'taken' && sent.question !== undefined ? `: ${brief(sent.question.text)}` : '';
  return tellSent(loop, sent, `answered ${name}${asked}`);
}

/** Words on the command line, or for `-` what stdin has: a program need not care how its text begins. */
function wordsOrStdin(words: string): string {
  return words === '-' ? readFileSync(0, 'utf8').trim() : words;
}

/** Prints what has become of a control; `done` is for one that its owner has taken, `unneeded` for one that changes nothing. */
export function tellSent(
  { name }: LoopRef,
  sent: Sent,
  done: string,
  unneeded: Partial<Record<Unneeded['is'], string>> = {},
): number {
  if (sent.is === 'taken' || sent.is === 'resumed') print(`${done}\n`);
  if (sent.is === 'queued') print(`queued for ${name}: ${WHEN_TAKEN[sent.until](name)}\n`);
  if (sent.is === 'unanswered')
    print(`queued for ${name}: its owner (process ${sent.owner}) does not respond; is it suspended?\n`);
  if (sent.is === 'unneeded')
    warn(`ralph: warning: ${unneeded[sent.why.is] ?? whyUnneeded(name, sent.why)}\n`);
  return 0;
}

function whyUnneeded(name: string, why: Unneeded): string {
  switch (why.is) {
    case 'paused':
      return `loop ${name} is already paused`;
    case 'not paused':
      return `loop ${name} is not paused: it is running`;
    case 'ended':
      return `loop ${name} has already ended`;
    case 'without owner': {
      const orphan =
        why.agent === null
          ? ''
          : `, and its agent (process ${why.agent}) finishes its run on its own (end it with: ralph stop ${name} --now)`;
      return `loop ${name} is not running, so there is nothing to pause: no Ralph process starts its next iteration${orphan}; continue it with: ralph resume ${name}`;
    }
  }
}

const WHEN_TAKEN = {
  resumed: (name) => `the loop is not running; it takes effect with: ralph resume ${name}`,
  'next turn': () => 'it takes effect with the next turn of its session; type anything there',
  'end of turn': () => 'it takes effect when the turn of its session ends',
} as const satisfies Record<Extract<Sent, { is: 'queued' }>['until'], (name: string) => string>;
