/** How lines look, and how they fit. */
import { shortened, wrap } from '../text/columns.ts';

export type Colour = 'cyan' | 'dim' | 'green' | 'red' | 'yellow' | 'bold';

/** Colours a text, unless the terminal has no colours or the user wants none. */
export type Paint = (colour: Colour, text: string) => string;

export interface Look {
  readonly columns: number;
  readonly rows: number;
  readonly now: number;
  readonly paint: Paint;
  /** The home folder. */
  readonly home: string | undefined;
  /** One sentence per line, and nothing that only the eye needs. */
  readonly isForScreenReader: boolean;
}

/** A line in a colour, cut to the width of the screen. */
export function fitted(text: string, { columns, paint }: Look, colour: Colour | null = null): string {
  const line = shortened(text, columns);
  return colour === null || line === '' ? line : paint(colour, line);
}

/** A part of a long text: from a line on, or its end. A line that is too wide continues on the next one. */
export function windowOf(
  lines: readonly string[],
  from: number | null,
  { columns, height }: { readonly columns: number; readonly height: number },
): readonly string[] {
  const shown: string[] = [];
  if (from === null) {
    for (let at = lines.length - 1; at >= 0 && shown.length < height; at--)
      shown.unshift(...wrap(lines[at] ?? '', columns));
    return shown.slice(-height);
  }
  for (let at = from; at < lines.length && shown.length < height; at++)
    shown.push(...wrap(lines[at] ?? '', columns));
  return shown.slice(0, height);
}

/** Where the first line of a text may stand at most, so that the screen is full. */
export function lastStart(
  lines: readonly string[],
  size: { readonly columns: number; readonly height: number },
): number {
  let room = size.height;
  for (let at = lines.length - 1; at >= 0; at--) {
    room -= wrap(lines[at] ?? '', size.columns).length;
    if (room < 0) return at + 1;
  }
  return 0;
}
