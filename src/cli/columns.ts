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
      const cells = row.map((cell, column) =>
        wrapped(cell, widths[column] ?? 0, cut && column === row.length - 1),
      );
      const height = Math.max(...cells.map((lines) => lines.length));
      return Array.from({ length: height }, (_, line) =>
        cells.map((lines, column) => padded(lines[line] ?? '', widths[column] ?? 0)).join(GAP),
      );
    })
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

const GAP = '  ';

/** Below this a column is not readable. */
const LEAST = 12;

/** The columns of the terminal that stdout is; unlimited for a file or a pipe. */
function terminalWidth(): number {
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

/** The lines of a cell: at most one with `cut`, else as many as it needs, broken at spaces where possible. */
function wrapped(text: string, width: number, cut: boolean): readonly string[] {
  if (stringWidth(text) <= width) return [text];
  if (cut) return [`${start(text, width - 1)}…`];
  const lines: string[] = [];
  let rest = text;
  while (stringWidth(rest) > width) {
    const line = start(rest, width);
    // A space just behind the line is a good place to break, too.
    const space = rest[line.length] === ' ' ? line.length : line.lastIndexOf(' ');
    const end = space > 0 ? space : Math.max(1, line.length);
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
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

/** The lines of a text that fit into a width, broken between words where possible. */
export function wrap(text: string, width: number): readonly string[] {
  const room = Math.max(MIN_WIDTH, width);
  if (stringWidth(text) <= room) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((one) => pieces(one, room))) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && stringWidth(longer) > room) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

/** On a narrower terminal, lines are as wide as this. */
const MIN_WIDTH = 20;

/** A word in pieces that fit. */
function pieces(word: string, room: number): readonly string[] {
  if (stringWidth(word) <= room) return [word];
  const parts: string[] = [];
  let part = '';
  for (const character of word) {
    if (stringWidth(part + character) > room) {
      parts.push(part);
      part = '';
    }
    part += character;
  }
  return [...parts, part];
}
