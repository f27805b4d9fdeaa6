import { readFileSync } from 'node:fs';
import type { WordingPolicy } from '../loop/policy.ts';
import { chosenLoop, loopAndWords } from './chosen-loop.ts';
import { hall } from './hall.ts';
import type { StoppedOne } from '../loops/loops.ts';
import { answeredText, sentText, stoppingText, toldText } from '../text/sent.ts';
import { textsOf } from '../text/wording.ts';
import { print, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

interface Where {
  readonly cwd?: string;
}

/** `ralph pause`: lets the running agent finish, and starts nothing after it. The texts are those of its preset, or `wording`. */
export async function pause(name: string | null, options: Where, wording?: WordingPolicy): Promise<number> {
  const loops = hall();
  const loop = await chosenLoop(loops, name, workspaceOf(options), 'pause');
  const sent = await loops.send(loop, { type: 'pause' });
  const texts = textsOf(wording ?? (await loops.get(loop)).state.policy.wording);
  return tellSent(loop, sent, texts.paused(loop.name), { paused: texts.alreadyPaused(loop.name) });
}

/** `ralph stop`: stops a loop after the running step, or with `--now` at once. */
export async function stop(name: string | null, options: StopOptions): Promise<number> {
  const { now = false, tree = false } = options;
  let driven = 0;
  const loops = hall({
    async drive(owned) {
      const { drive } = await import('./drive.ts');
      if ((await drive(owned, {})) === 3) driven = 3;
    },
  });
  const loop = await chosenLoop(loops, name, workspaceOf(options), 'stop');
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
  if (sent.is !== 'problem') return tellSent(loop, sent, stoppingText(loop.name, sent));
  warn(`ralph: error: ${sent.message}\n`);
  return sent.exitCode;
}

/** `ralph tell`: adds words to the agent's next prompt; `-` stands for stdin. */
export async function tell(given: readonly string[], options: Where): Promise<number> {
  const loops = hall();
  const { loop, words } = await loopAndWords(loops, given, workspaceOf(options), 'tell');
  const text = wordsOrStdin(words);
  const sent = await loops.send(loop, { type: 'tell', text });
  return tellSent(loop, sent, toldText(loop.name));
}

/** `ralph answer`: answers a question of the agent, the oldest one unless another is named; `-` stands for stdin. */
export async function answer(
  given: readonly string[],
  options: Where & { readonly question?: string },
): Promise<number> {
  const loops = hall();
  const { loop, words } = await loopAndWords(loops, given, workspaceOf(options), 'answer');
  const text = wordsOrStdin(words);
  const { question = null } = options;
  const sent = await loops.send(loop, { type: 'answer', question, text });
  return tellSent(loop, sent, answeredText(loop.name, sent));
}

/** Words on the command line, or for `-` what stdin has: a program need not care how its text begins. */
function wordsOrStdin(words: readonly string[]): string {
  const text = words.join(' ');
  return text === '-' ? readFileSync(0, 'utf8').trim() : text;
}

/** Prints what has become of a request. */
export function tellSent(...told: Parameters<typeof sentText>): number {
  const said = sentText(...told);
  if (said?.isWarning === true) warn(`ralph: warning: ${said.text}\n`);
  else if (said !== null) print(`${said.text}\n`);
  return 0;
}
