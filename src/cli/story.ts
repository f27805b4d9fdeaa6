import { parseDuration, parseWhole } from '../config/values.ts';
import { localTime } from '../journal/times.ts';
import { UserError } from '../user-error.ts';
import { summaryOf } from '../views/loop-summary.ts';
import { replay } from '../views/replay.ts';
import { terminalWidth, wrap } from './columns.ts';
import { painter } from './line-options.ts';
import { checkName } from './loops.ts';
import { print } from './print.ts';
import { entriesFor, entryForNow, type StoryEntry } from './story-entries.ts';
import { workspaceOf } from './workspace.ts';

interface StoryOptions {
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly since?: string;
  readonly iteration?: string;
  readonly cwd?: string;
}

/** `ralph story`: prints what Ralph did in a loop and when, from the loop's journal. */
export function story(name: string, options: StoryOptions): number {
  checkName(name);
  const isWanted = filterFrom(options);
  const show = options.json === true ? showJson : showText();
  const isVerbose = options.verbose === true;
  let hasReader = true;
  const loop = replay(workspaceOf(options), name, (event, before, after, spec) => {
    for (const entry of entriesFor(event, before, after, { spec, isVerbose }))
      if (hasReader && isWanted(entry)) hasReader = show(entry);
    return hasReader;
  });
  if (!hasReader) return 0;
  if (loop.trouble !== null) throw new UserError(loop.trouble);
  const now = entryForNow(summaryOf(loop), Date.now());
  if (now !== null) show(now);
  return 0;
}

function filterFrom({ since, iteration }: StoryOptions): (entry: StoryEntry) => boolean {
  const from = since === undefined ? 0 : Date.now() - parseDuration('--since', since);
  const wanted = iteration === undefined ? null : parseWhole('--iteration', iteration, 1);
  return (entry) => entry.at >= from && (wanted === null || entry.iteration === wanted);
}

/** Prints an entry; false if there is no reader any more. */
type Show = (entry: StoryEntry) => boolean;

const showJson: Show = ({ at, ...entry }) =>
  print(`${JSON.stringify({ at: new Date(at).toISOString(), ...entry })}\n`);

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
