/**
 * Which loop a command is about that was called without NAME.
 *
 * 1. Commands that show a loop, or can be taken back, take the last one of the workspace: one that they suit before others, one that
 *    a person has started before child loops, and then the one that was driven last. The first line on stderr says which.
 * 2. `tell`, `answer`, `set` and `diff` take a loop only if exactly one fits, and the first word cannot be the name of another one.
 * 3. Inside a run the commands that only read mean its own loop, and the others need a name.
 */
import { findRef } from '../loops/find.ts';
import { sandboxRequests } from '../loops/here.ts';
import type { LoopRow } from '../loops/list.ts';
import { drivenAt } from '../text/look-first.ts';
import type { LoopRef, Loops } from '../loops/loops.ts';
import { Rights } from '../loops/rights.ts';
import { counted, shortList } from '../loop/counted.ts';
import { problemWithName } from '../loop/names.ts';
import { UserError } from '../user-error.ts';
import { warn } from './print.ts';

type Suiting = 'status' | 'logs' | 'story' | 'attach' | 'wait' | 'pause' | 'stop' | 'resume';
type Fitting = 'tell' | 'answer' | 'set' | 'diff';

/** The loop of this name, or without a name the last one of the workspace of this folder. */
export async function chosenLoop(
  loops: Loops,
  name: string | null,
  folder: string,
  command: Suiting,
): Promise<LoopRef> {
  if (name !== null) return loops.find(name, folder);
  const own = await ownLoop(loops, folder, command, READS.has(command));
  if (own !== null) return own;
  const rows = await rowsHere(loops, folder);
  const rank = (row: LoopRow): number => (SUITS[command](row) ? 2 : 0) + (row.parent === null ? 1 : 0);
  const [last] = rows.toSorted((a, b) => rank(b) - rank(a) || drivenAt(b) - drivenAt(a));
  if (last === undefined) throw noLoops();
  const which = rows.length === 1 ? 'the only one' : `the last one of ${rows.length}`;
  return sayChosen(last, `${which} in this workspace`);
}

/** The loop that the first word names and the other words; or all words, and the only loop that they can be for. */
export async function loopAndWords(
  loops: Loops,
  words: readonly string[],
  folder: string,
  command: Fitting,
): Promise<{ readonly loop: LoopRef; readonly words: readonly string[] }> {
  const [first, ...others] = words;
  if (first !== undefined && (!isFirstOfWords(first, command, others.length) || isLoop(folder, first))) {
    const loop = await loops.find(first, folder);
    if (others.length === 0 && command !== 'diff')
      throw new UserError(`missing words after the name: ralph ${command} ${first} ${USAGE[command]}`);
    return { loop, words: others };
  }
  const own = await ownLoop(loops, folder, command, command === 'diff');
  if (own !== null) return { loop: own, words };
  const rows = await rowsHere(loops, folder);
  const fitting = rows.filter(FITS[command].test);
  const [only, ...more] = fitting;
  if (rows.length === 0) throw noLoops();
  if (only === undefined) throw new UserError(`${FITS[command].none}; here are: ${namesOf(rows)}`);
  const that = rows.length === 1 ? '' : ` that ${FITS[command].that}`;
  if (more.length === 0) return { loop: sayChosen(only, `the only one in this workspace${that}`), words };
  throw new UserError(
    `which loop? ${counted(fitting.length, 'loop')} here could be meant (${namesOf(fitting)}): ralph ${command} NAME ${USAGE[command]}`,
  );
}

const IS_ACTIVE: ReadonlySet<string> = new Set(['running', 'paused', 'in-session', 'left']);
const isActive = ({ status }: LoopRow): boolean => IS_ACTIVE.has(status);
const canContinue = ({ status }: LoopRow): boolean =>
  status === 'paused' || !(IS_ACTIVE.has(status) || status === 'done' || status === 'unreadable');

/** The loops that a command is more likely about than the others. */
const SUITS: Readonly<Record<Suiting, (row: LoopRow) => boolean>> = {
  status: isActive,
  logs: isActive,
  story: isActive,
  attach: isActive,
  wait: isActive,
  pause: isActive,
  stop: isActive,
  resume: canContinue,
};

const READS: ReadonlySet<string> = new Set(['status', 'logs', 'story']);

const isOpen = ({ status, record }: LoopRow): boolean => record.outcome === null && status !== 'unreadable';

interface Fit {
  readonly test: (row: LoopRow) => boolean;
  /** What the loops that fit have in common, and what is said if none does. */
  readonly that: string;
  readonly none: string;
}

const OPEN = { test: isOpen, that: 'has not ended', none: 'every loop in this workspace has ended' };

/** The loops that a command can be about. */
const FITS: Readonly<Record<Fitting, Fit>> = {
  tell: OPEN,
  set: OPEN,
  answer: {
    test: ({ questions = [] }) => questions.length > 0,
    that: 'has an open question',
    none: 'no loop in this workspace has an open question',
  },
  diff: { test: () => true, that: 'exists', none: 'there is no loop in this workspace' },
};

const USAGE: Readonly<Record<Fitting, string>> = {
  tell: '"…"',
  answer: '"…"',
  set: 'KEY=VALUE',
  diff: '[WHAT]',
};

/**
 * Whether a first word belongs to the words although no loop has this name. A mistyped name before other words does not: it would
 * send them to another loop.
 */
function isFirstOfWords(first: string, command: Fitting, others: number): boolean {
  if (command === 'diff') return /^(?:\d+|start|now)$|\.\./.test(first);
  return problemWithName(first) !== null || (others === 0 && command !== 'set');
}

function isLoop(folder: string, name: string): boolean {
  if (sandboxRequests() !== null || problemWithName(name) !== null) return false;
  try {
    findRef(folder, name);
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** The loop of the run that calls; null outside of runs. */
async function ownLoop(
  loops: Loops,
  folder: string,
  command: string,
  reads: boolean,
): Promise<LoopRef | null> {
  if (sandboxRequests() === null && new Rights().isPerson) return null;
  if (reads) return loops.find('self', folder);
  throw new UserError(`inside a run, ralph ${command} needs the name of a loop`);
}

function rowsHere(loops: Loops, folder: string): Promise<readonly LoopRow[]> {
  return loops.list({ workspace: folder });
}

function sayChosen({ id, name, workspace }: LoopRow, why: string): LoopRef {
  warn(`ralph: loop ${name}, ${why}\n`);
  return { id, name, workspace };
}

function noLoops(): UserError {
  return new UserError('no loops in this workspace; start one with: ralph run (or try: ralph demo)');
}

function namesOf(rows: readonly LoopRow[]): string {
  return shortList(
    rows.map(({ name }) => name),
    8,
  );
}
