import stringWidth from 'fast-string-width';

/** Aligns rows in columns, each as wide as its widest cell on a terminal. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => stringWidth(row[column] ?? ''))),
  );
  return rows
    .map((row) => {
      const cells = row.map((cell, column) => padded(cell, widths[column] ?? 0));
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
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
