import { styleText } from 'node:util';
import type { LineOptions } from './agent-lines.ts';
import type { ViewOptions } from './options.ts';
import { parseWhole } from '../config/values.ts';

/** How an agent's lines look where they are going to. */
export function lineOptions(options: ViewOptions, stream: NodeJS.WriteStream): LineOptions {
  const { outputLines, outputChars } = options;
  return {
    emoji: options.emoji ?? (stream.isTTY && speaksUnicode()),
    timestamps: options.timestamps === true,
    maxLines: outputLines === undefined ? 3 : parseWhole('--output-lines', outputLines, 0),
    maxChars: outputChars === undefined ? 120 : parseWhole('--output-chars', outputChars, 0),
    verbose: options.verbose === true,
    paint: painter(stream),
  };
}

/** A terminal that can show more than letters, as far as it says so. */
function speaksUnicode(): boolean {
  const { LC_ALL, LC_CTYPE, LANG, TERM } = process.env;
  const locale = [LC_ALL, LC_CTYPE, LANG].find((value) => value !== undefined && value !== '') ?? '';
  return /utf-?8/i.test(locale) && TERM !== 'linux' && TERM !== 'dumb';
}

export type Colour = 'cyan' | 'dim' | 'green' | 'red' | 'yellow' | 'bold';

/** Colour only where there is one (`NO_COLOR`, `FORCE_COLOR` and no terminal are respected). */
export function painter(stream: NodeJS.WriteStream): (colour: Colour, text: string) => string {
  return (colour, text) =>
    stream.isTTY && stream.hasColors() && process.env['NO_COLOR'] === undefined
      ? styleText(colour, text, { stream })
      : text;
}
