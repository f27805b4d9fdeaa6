/**
 * What ended the daemon while it worked for a loop: the loop kept it busy for too long, or threw an error that nothing caught.
 *
 * 1. Only the daemon itself notes it. A daemon that was killed from outside has noted nothing.
 * 2. After two notes at the same event of its journal a loop is set aside: the daemon leaves it alone until a person takes it
 *    over. What owners write whenever they take over or leave, and what they learn of other loops, is no event in this sense.
 */
import { PRIVATE_FILE, readJsonFile } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { readJournal } from '../journal/file.ts';
import { counted } from '../loop/counted.ts';
import type { LoopEvent } from '../loop/event.ts';
import { fields, fits, shortText, whole } from '../loop/shape.ts';
import { removeQuietly } from './state-folder.ts';
import type { LoopFolder } from './home.ts';

type TroubledLoop = Pick<LoopFolder, 'journal' | 'trouble'>;

interface Trouble {
  /** The number of the last event in the journal. */
  readonly event: number;
  /** Number of notes at this event. */
  readonly times: number;
  /** What the loop did the last time. */
  readonly what: string;
}

/** Notes that a loop has ended the daemon. */
export function noteTrouble(loop: TroubledLoop, what: string): void {
  const earlier = readTrouble(loop);
  const event = lastEventOf(loop);
  const times = earlier?.event === event ? earlier.times + 1 : 1;
  const trouble: Trouble = { event, times, what: what.replaceAll('\0', '').slice(0, MAX_LENGTH) };
  replaceFile(loop.trouble, `${JSON.stringify(trouble)}\n`, { mode: PRIVATE_FILE, flush: true });
}

/** Why a loop is set aside; null if it is not. */
export function whySetAside(loop: TroubledLoop): string | null {
  const trouble = readTrouble(loop);
  if (trouble === null || trouble.times < MOST) return null;
  const { event, times, what } = trouble;
  return `set aside: at event ${event} of its journal it ended the daemon ${counted(times, 'time')}, because it ${what}`;
}

/** A person takes the loop over. */
export function forgetTrouble({ trouble }: Pick<LoopFolder, 'trouble'>): void {
  removeQuietly(trouble);
}

const MOST = 2;
const MAX_LENGTH = 300;

function readTrouble({ trouble }: TroubledLoop): Trouble | null {
  const value = readJsonFile(trouble, MAX_BYTES);
  return isTrouble(value) ? value : null;
}

function isTrouble(value: unknown): value is Trouble {
  return fits(TROUBLE, value);
}

const TROUBLE = fields({ event: whole(0), times: whole(1), what: shortText(MAX_LENGTH) });
const MAX_BYTES = 4096;

function lastEventOf({ journal }: TroubledLoop): number {
  let [count, last] = [0, 0];
  readJournal(journal, {
    take({ type }) {
      count++;
      if (!OF_OWNERS.has(type)) last = count;
    },
  });
  return last;
}

const OF_OWNERS: ReadonlySet<LoopEvent['type']> = new Set([
  'owner.changed',
  'owner.left',
  'run.output',
  'family.counted',
  'limit.shared',
]);
