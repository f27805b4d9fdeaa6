import { fstatSync } from 'node:fs';
import stringWidth from 'fast-string-width';

/**
 * Aligns rows in columns, each as wide as its widest cell on a terminal. Where a line would be wider than `width`, the widest
 * columns get narrower and their cells continue on the next line; with `cut`, the last column ends with `…` instead.
 */
export function columns(
  rows: readonly (readonly string[])[],
  { width = terminalWidth(), cut = false }: { readonly width?: number; readonly cut?: boolean } = {},
): string {
  const natural = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => stringWidth(row[column] ?? ''))),
  );
  const widths = cut ? withShortLast(natural, width) : narrowed(natural, width);
  return rows
    .flatMap((row) => {
      const cells = row.map((cell, column) => {
        const room = widths[column] ?? 0;
        return cut && column === row.length - 1 ? [shortened(cell, room)] : wrap(cell, room);
      });
      const height = Math.max(...cells.map((lines) => lines.length));
      return Array.from({ length: height }, (_, line) =>
        cells.map((lines, column) => padded(lines[line] ?? '', widths[column] ?? 0)).join(GAP),
      );
    })
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

const GAP = '  ';

/** Narrower text is not readable. */
const LEAST = 12;

/** The columns of the terminal that stdout is; unlimited for a file, a pipe or a terminal that does not know its width. */
export function terminalWidth(): number {
  try {
    // Cheaper than `isatty`, which loads half of Node's networking.
    if (!fstatSync(1).isCharacterDevice() || !process.stdout.isTTY) return Infinity;
    return process.stdout.columns > 0 ? process.stdout.columns : Infinity;
  } catch {
    return Infinity;
  }
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1));
}

function withShortLast(widths: readonly number[], width: number): readonly number[] {
  const others = widths.slice(0, -1);
  return [...others, Math.max(1, Math.min(widths.at(-1) ?? 0, width - totalOf([...others, 0])))];
}

/** Takes from the widest column, again and again, until the line fits. */
function narrowed(widths: readonly number[], width: number): readonly number[] {
  const narrow = [...widths];
  while (totalOf(narrow) > width) {
    const widest = Math.max(...narrow);
    if (widest <= LEAST) break;
    narrow[narrow.lastIndexOf(widest)] = widest - 1;
  }
  return narrow;
}

/** The lines of a text that fit into a width, broken at spaces where possible. */
export function wrap(text: string, width: number): readonly string[] {
  const room = Math.max(LEAST, width);
  if (stringWidth(text) <= room) return [text];
  const lines: string[] = [];
  let rest = text;
  for (;;) {
    const line = start(rest, room);
    if (line === rest) return [...lines, rest];
    // A space just behind the line is a good place to break, too.
    const space = rest[line.length] === ' ' ? line.length : line.lastIndexOf(' ');
    const end = space > 0 ? space : line.length;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
}

function shortened(text: string, width: number): string {
  return stringWidth(text) <= width ? text : `${start(text, width - 1)}…`;
}

/** The longest start of a text that fits, without cutting a character. */
function start(text: string, width: number): string {
  let taken = '';
  let used = 0;
  for (const character of text) {
    used += stringWidth(character);
    if (used > width) break;
    taken += character;
  }
  return taken;
}

/** `String.padEnd` counts UTF-16 units; a CJK character or an emoji takes two columns. */
function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}
