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
