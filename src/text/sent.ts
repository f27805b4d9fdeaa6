/** What has become of a request to a loop. */
import { brief } from './one-line.ts';
import type { LoopRef, Sent, Unneeded } from '../loops/loops.ts';

export interface SentText {
  readonly text: string;
  /** Whether nothing was changed. */
  readonly isWarning: boolean;
}

/** `done` is what a request that was taken does, `unneeded` are other words for one that changes nothing; null if there is nothing to say. */
export function sentText(
  { name }: Pick<LoopRef, 'name'>,
  sent: Sent,
  done: string,
  unneeded: Partial<Record<Unneeded['is'], string>> = {},
): SentText | null {
  switch (sent.is) {
    case 'taken':
    case 'resumed':
      return { text: done, isWarning: false };
    case 'queued':
      return { text: `queued for ${name}: ${WHEN_TAKEN[sent.until](name)}`, isWarning: false };
    case 'unanswered':
      return {
        text: `queued for ${name}: its owner (process ${sent.owner}) does not respond; is it suspended?`,
        isWarning: false,
      };
    case 'unneeded':
      return { text: unneeded[sent.why.is] ?? whyUnneeded(name, sent.why), isWarning: true };
    case 'ended':
      return null;
  }
}

const WHEN_TAKEN: Readonly<Record<Extract<Sent, { is: 'queued' }>['until'], (name: string) => string>> = {
  resumed: (name) => `the loop is not running; it takes effect with: ralph resume ${name}`,
  'next turn': () => 'it takes effect with the next turn of its session; type anything there',
  'end of turn': () => 'it takes effect when the turn of its session ends',
};

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

export function toldText(name: string): string {
  return `delivered to ${name}; it goes into the next prompt`;
}

export function stoppingText(name: string, sent: Sent): string {
  return `stopping ${name} ${sent.is === 'taken' && sent.now === true ? 'now' : 'after the running step'}`;
}

export function answeredText(name: string, sent: Sent): string {
  const question = sent.is === 'taken' ? sent.question : undefined;
  return `answered ${name}${question === undefined ? '' : `: ${brief(question.text)}`}`;
}
