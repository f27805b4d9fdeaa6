import stringWidth from 'fast-string-width';

/**
 * Aligns rows in columns, each as wide as its widest cell on a terminal. Where a line would be wider than `width`, the widest
 * columns get narrower and their cells continue on the next line; with `cut`, they end with `…` instead, those of the last
 * column first, and each row is one line. `paint` colours a cell, by its row and column.
 */
export function columns(
  rows: readonly (readonly string[])[],
  { width = Infinity, cut = false, paint }: Layout = {},
): string {
  const natural = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const unbroken = (): readonly number[] =>
    natural.map((most, column) => {
      const longest = Math.max(...rows.map((row) => longestPiece(row[column] ?? '')));
      return Math.min(most, longest + (column === 0 ? GAP.length : 0));
    });
  const widths = cut ? withShortLast(natural, width) : narrowed(natural, unbroken(), width);
  return rows
    .flatMap((row, at) => {
      const cells = row.map((cell, column) => {
        const room = widths[column] ?? 0;
        if (cut) return [shortened(cell, room)];
        return column === 0 ? hanging(cell, room) : wrap(cell, room);
      });
      const height = Math.max(...cells.map((lines) => lines.length));
      return Array.from({ length: height }, (_, line) =>
        cells
          .map((lines, column) => {
            const text = lines[line] ?? '';
            const painted = paint === undefined || text === '' ? text : paint(text, at, column);
            return painted + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(text)));
          })
          .join(GAP),
      );
    })
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

interface Layout {
  readonly width?: number;
  readonly cut?: boolean;
  readonly paint?: (text: string, row: number, column: number) => string;
}

const GAP = '  ';

/** Continues with an indent, so that the next line does not look like another row. */
function hanging(text: string, width: number): readonly string[] {
  if (widthOf(text) <= width) return [text];
  const [first = '', ...others] = wrap(text, width - GAP.length);
  return [first, ...others.map((line) => GAP + line)];
}

/** Narrower text is not readable. */
const LEAST = 12;

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1));
}

/** Takes from the last column, then again and again from the widest other one, until the line fits. */
function withShortLast(widths: readonly number[], width: number): readonly number[] {
  const narrow = [...widths];
  const last = narrow.length - 1;
  for (const least of CUTS) {
    const tooMuch = Math.max(0, totalOf(narrow) - width);
    const own = narrow[last] ?? 0;
    narrow[last] = Math.max(Math.min(own, least.last), own - tooMuch);
    while (totalOf(narrow) > width) {
      const widest = Math.max(...narrow.slice(0, -1));
      if (widest <= least.others) break;
      narrow[narrow.indexOf(widest)] = widest - 1;
    }
  }
  return narrow;
}

/** How narrow the columns may get, from what reads well to what is better than a broken row. */
const CUTS = [
  { last: 20, others: 28 },
  { last: LEAST, others: LEAST },
  { last: 1, others: 1 },
] as const;

/** Takes from the widest column, again and again, until the line fits; from one whose words would break only at last. */
function narrowed(widths: readonly number[], unbroken: readonly number[], width: number): readonly number[] {
  const narrow = [...widths];
  for (const least of [unbroken, []]) {
    while (totalOf(narrow) > width) {
      const free = narrow.map((one, column) => (one > Math.max(LEAST, least[column] ?? 0) ? one : 0));
      const widest = Math.max(...free);
      if (widest === 0) break;
      narrow[free.lastIndexOf(widest)] = widest - 1;
    }
  }
  return narrow;
}

function longestPiece(text: string): number {
  const pieces = text.split(new RegExp(`${BREAK.source}|\\s+`));
  // Not with a spread: a long list has more pieces than a call may have arguments.
  return pieces.reduce((longest, piece) => Math.max(longest, widthOf(piece)), 0);
}

/** The lines of a text; those that continue one are indented, so that none looks like the next entry. */
export function wrapped(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return wrap(text, width - GAP.length).join(`\n${GAP}`);
}

/** The lines of a text that fit into a width, broken at spaces or after punctuation where possible. */
export function wrap(text: string, width: number): readonly string[] {
  const room = Math.max(LEAST, width);
  if (widthOf(text) <= room) return [text];
  const lines: string[] = [];
  let rest = text;
  for (;;) {
    const line = start(rest, room);
    if (line === rest) return [...lines, rest];
    // A space just behind the line is a good place to break, too.
    const space = rest[line.length] === ' ' ? line.length : line.lastIndexOf(' ');
    const end = space > 0 ? space : lastBreak(line);
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
}

/** Where a long word is broken: after a comma, a slash or a colon, else at its end. */
function lastBreak(line: string): number {
  const at = [...line.matchAll(new RegExp(BREAK, 'g'))].at(-1)?.index ?? 0;
  return at > line.length / 4 ? at : line.length;
}

/** Not before the numbers of a line and column: `settings.json:3:5`. */
const BREAK = /(?<=[,/]|:(?!\d))(?=.)/;

/** A text that is cut where it is too wide. */
export function shortened(text: string, width: number): string {
  return widthOf(text) <= width ? text : `${start(text, width - 1)}…`;
}

/** The longest start of a text that fits, without cutting a character. */
function start(text: string, width: number): string {
  let taken = '';
  let used = 0;
  for (const [character] of text.matchAll(CHARACTER)) {
    used += widthOf(character);
    if (used > width) break;
    taken += character;
  }
  return taken;
}

/** A colour is one, and takes no column. */
// oxlint-disable-next-line no-control-regex -- it is what a colour starts with
const CHARACTER = /\u001B\[\d+m|./gsu;

/**
 * The columns that a text takes on a terminal, where a CJK character or an emoji takes two. Most texts are plain, and their width
 * is their length.
 */
function widthOf(text: string): number {
  return PLAIN.test(text) ? text.length : stringWidth(text);
}

const PLAIN = /^[ -~]*$/;
