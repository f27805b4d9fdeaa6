import { styleText } from 'node:util';
import type { LineOptions } from '../text/agent-lines.ts';
import type { ViewOptions } from './options.ts';
import { parseWhole } from '../settings/values.ts';
import { stamp } from '../text/times.ts';

/** How the lines of an agent look on this stream. */
export function lineOptions(options: ViewOptions, stream: NodeJS.WriteStream): LineOptions {
  const { outputLines, outputChars } = options;
  return {
    emoji: options.emoji ?? (stream.isTTY && supportsUnicode()),
    timestamps: options.timestamps === true,
    maxLines: outputLines === undefined ? 3 : parseWhole('--output-lines', outputLines, 0),
    maxChars: outputChars === undefined ? 120 : parseWhole('--output-chars', outputChars, 0),
    verbose: options.verbose === true,
    paint: painter(stream),
  };
}

/** Whether the locale and TERM say that the terminal can show emoji. */
function supportsUnicode(): boolean {
  const { LC_ALL, LC_CTYPE, LANG, TERM } = process.env;
  const locale = [LC_ALL, LC_CTYPE, LANG].find((value) => value !== undefined && value !== '') ?? '';
  return /utf-?8/i.test(locale) && TERM !== 'linux' && TERM !== 'dumb';
}

export type Colour = 'cyan' | 'dim' | 'green' | 'red' | 'yellow' | 'bold';

export type Paint = (colour: Colour, text: string) => string;

/** Colours text on a terminal that has colours, unless `NO_COLOR` is set. */
export function painter(stream: NodeJS.WriteStream): Paint {
  return (colour, text) =>
    stream.isTTY && stream.hasColors() && process.env['NO_COLOR'] === undefined
      ? styleText(colour, text, { stream })
      : text;
}

/** The time at the start of a line, where the user asks for it. */
export function stampIf({ timestamps }: ViewOptions, isDated?: boolean): string {
  return timestamps === true ? stamp(Date.now(), isDated) : '';
}
