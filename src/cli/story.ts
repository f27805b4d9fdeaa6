import { parseDuration, parseWhole } from '../config/values.ts';
import { clockTime, localTime } from '../text/times.ts';
import { pagesOf } from '../loops/events.ts';
import { localLoops } from '../loops/local-loops.ts';
import { endRecord } from '../store/end-record.ts';
import { UserError } from '../user-error.ts';
import { wrap } from '../text/columns.ts';
import { painter } from './line-options.ts';
import { entryForNow, entryForTotals, storyOf, type StoryEntry, type StoryFilter } from '../text/story.ts';
import { print, printJson, terminalWidth, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

interface StoryOptions {
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly since?: string;
  readonly iteration?: string;
  readonly cwd?: string;
}

/** `ralph story`: prints what Ralph did in a loop and when, from the loop's journal. */
export async function story(name: string, options: StoryOptions): Promise<number> {
  const filter = filterFrom(options);
  const show = options.json === true ? showJson : showText();
  const isVerbose = options.verbose === true;
  let isEmpty = true;
  const loops = localLoops();
  const ref = await loops.find(name, workspaceOf(options));
  const { spec, trouble } = await loops.get(ref);
  if (spec === null) throw new UserError(trouble ?? `cannot read loop ${name}`);
  for await (const entry of storyOf(pagesOf(loops, ref), { spec, isVerbose, endRecord }, filter)) {
    isEmpty = false;
    if (!show(entry)) return 0;
  }
  const { summary, state, report, trouble: problem } = await loops.get(ref);
  if (problem !== null) throw new UserError(problem);
  checkIteration(filter, name, state.iteration);
  const now = entryForNow(summary, Date.now());
  if (now !== null) show(now);
  else if (isEmpty)
    warn(`ralph: nothing happened in loop ${name} since ${clockTime(filter.from, Date.now())}\n`);
  // A part of the story would look like the reason for the sums of all of it.
  if (options.since === undefined && options.iteration === undefined)
    show(entryForTotals({ state, report }, state.family.below, await loops.changedFiles(ref), Date.now()));
  return 0;
}

function filterFrom({ since, iteration }: StoryOptions): StoryFilter {
  return {
    from: since === undefined ? 0 : Date.now() - parseDuration('--since', since),
    iteration: iteration === undefined ? null : parseWhole('--iteration', iteration, 1),
  };
}

function checkIteration({ iteration }: StoryFilter, name: string, last: number): void {
  if (iteration === null || iteration <= last) return;
  const known =
    last === 0 ? 'it has not started one' : last === 1 ? 'iterations: 1' : `iterations: 1 to ${last}`;
  throw new UserError(`loop ${name} has no iteration ${iteration} (${known})`);
}

/** Prints an entry; false if there is no reader any more. */
type Show = (entry: StoryEntry) => boolean;

const showJson: Show = ({ at, ...entry }) => printJson({ at: new Date(at).toISOString(), ...entry });

/** The time and the text of every entry, under the date where it changes. */
function showText(): Show {
  const paint = painter(process.stdout);
  const width = terminalWidth() - INDENT.length;
  let shown = '';
  return ({ at, text }) => {
    const [date = '', time = ''] = localTime(at).split('T');
    const heading = date === shown ? '' : `${shown === '' ? '' : '\n'}${paint('bold', date)}\n`;
    shown = date;
    const [first = '', ...others] = wrap(text, width);
    const lines = [`${paint('dim', time)}  ${first}`, ...others.map((line) => `${INDENT}${line}`)];
    return print(`${heading}${lines.join('\n')}\n`);
  };
}

/** As wide as a time and the space after it. */
const INDENT = ' '.repeat('12:00:00  '.length);
