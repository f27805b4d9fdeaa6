/** What to keep of a text that may be too long: its first or its last characters, and how a cut is shown. */
export interface Excerpt {
  readonly side: 'head' | 'tail';
  /** Unicode code points; null keeps everything. */
  readonly chars: number | null;
  /** Stands where something was cut, and only then. */
  readonly marker: string;
}

/** Cuts a text by code points, never through one, and touches only the part of it that is kept. */
export function excerpt(text: string, { side, chars, marker }: Excerpt): string {
  if (chars === null || text.length <= chars) return text;
  if (side === 'head') {
    const end = forward(text, chars);
    return end === text.length ? text : text.slice(0, end) + marker;
  }
  const start = backward(text, chars);
  return start === 0 ? text : marker + text.slice(start);
}

/** A text of at most so many characters, or of any number for 0; what is cut off shows. */
export function cut(line: string, longest: number): string {
  const characters = Array.from(line);
  return longest <= 0 || characters.length <= longest
    ? line
    : `${characters.slice(0, Math.max(0, longest - 3)).join('')}...`;
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
