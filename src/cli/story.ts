import { parseDuration, parseWhole } from '../settings/values.ts';
import { clockTime, localTime } from '../text/times.ts';
import { readStory } from '../loops/story.ts';
import { wrap } from '../text/columns.ts';
import { chosenLoop } from './chosen-loop.ts';
import { hall } from './hall.ts';
import { painter } from './line-options.ts';
import type { StoryEntry, StoryFilter } from '../text/story.ts';
import { printAsIs, printJson, terminalWidth, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

interface StoryOptions {
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly since?: string;
  readonly iteration?: string;
  readonly cwd?: string;
}

/** `ralph story`: prints what Ralph did in a loop and when, from the loop's journal. */
export async function story(name: string | null, options: StoryOptions): Promise<number> {
  const filter = filterFrom(options);
  const show = options.json === true ? showJson : showText();
  let isEmpty = true;
  const loops = hall();
  const loop = await chosenLoop(loops, name, workspaceOf(options), 'story');
  for await (const entry of readStory(loops, loop, filter, options.verbose)) {
    isEmpty = false;
    if (!show(entry)) return 0;
  }
  if (isEmpty)
    warn(`ralph: nothing happened in loop ${loop.name} since ${clockTime(filter.from, Date.now())}\n`);
  return 0;
}

function filterFrom({ since, iteration }: StoryOptions): StoryFilter {
  return {
    from: since === undefined ? 0 : Date.now() - parseDuration('--since', since),
    iteration: iteration === undefined ? null : parseWhole('--iteration', iteration, 1),
  };
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
    return printAsIs(`${heading}${lines.join('\n')}\n`);
  };
}

/** As wide as a time and the space after it. */
const INDENT = ' '.repeat('12:00:00  '.length);
