/** Which part of a long text to keep: its first or last characters, and how a cut is shown. */
export interface Excerpt {
  readonly side: 'head' | 'tail';
  /** Unicode code points; null keeps everything. */
  readonly chars: number | null;
  /** Inserted at the cut, if there is one. */
  readonly marker: string;
}

/** Which part of a check's output to keep; `failures` are what its test runner reports, else the end without noise. */
export type CheckExcerpt = Omit<Excerpt, 'side'> & { readonly side: Excerpt['side'] | 'failures' };

/** Cuts between code points, and only scans the part that is kept. */
export function excerpt(text: string, { side, chars, marker }: Excerpt): string {
  if (chars === null || text.length <= chars) return text;
  if (side === 'head') {
    const end = forward(text, chars);
    return end === text.length ? text : text.slice(0, end) + marker;
  }
  const start = backward(text, chars);
  return start === 0 ? text : marker + text.slice(start);
}

/** A text on one line: its lines without the blanks around them. */
export function joinLines(text: string, separator: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(separator);
}

/** Cuts a text to `maxLength` characters, with `...` at the end; 0 means unlimited. */
export function cut(line: string, maxLength: number): string {
  const characters = Array.from(line);
  return maxLength <= 0 || characters.length <= maxLength
    ? line
    : `${characters.slice(0, Math.max(0, maxLength - 3)).join('')}...`;
}

function forward(text: string, count: number): number {
  let index = 0;
  for (let left = count; left > 0 && index < text.length; left--) index += isPair(text, index) ? 2 : 1;
  return index;
}

function backward(text: string, count: number): number {
  let index = text.length;
  for (let left = count; left > 0 && index > 0; left--) index -= index > 1 && isPair(text, index - 2) ? 2 : 1;
  return index;
}

function isPair(text: string, index: number): boolean {
  const high = text.charCodeAt(index);
  const low = text.charCodeAt(index + 1);
  return high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000;
}
