/**
 * What an agent itself has put on its screen: not what was there before it got its prompt, and not the prompt, which every
 * terminal and many programs show again. A completion word in either is no claim.
 *
 * 1. A line that was there before the prompt is left out as often as it was there.
 * 2. An echo starts with the first words of the prompt and continues as the prompt does. Where its beginning has scrolled
 *    away, two lines that follow each other in the prompt are an echo too. A single line of the prompt is not: the prompt
 *    may tell the agent to print it.
 * 3. Blanks do not count, since a program breaks and indents lines as it likes.
 */
export function ownText(screen: string, before: string, prompt: string): string {
  const known = new Map<string, number>();
  for (const line of before.split('\n').map(bare)) known.set(line, (known.get(line) ?? 0) + 1);
  const fresh = screen.split('\n').filter((line) => {
    const count = known.get(bare(line)) ?? 0;
    if (count === 0 || bare(line) === '') return true;
    known.set(bare(line), count - 1);
    return false;
  });
  const asked = prompt.split('\n').map(unmarked).join('');
  return withoutEcho(fresh, asked).join('\n');
}

function withoutEcho(lines: readonly string[], prompt: string): readonly string[] {
  if (prompt === '') return lines;
  const kept: string[] = [];
  /** The position in the prompt where the echo would continue; null outside of an echo. */
  let at: number | null = null;
  const texts = lines.map(unmarked);
  for (const [index, line] of lines.entries()) {
    const text = texts[index] ?? '';
    if (text === '') {
      kept.push(line);
      continue;
    }
    const next = (): string => texts.slice(index + 1, index + 1 + MAX_GAP).find((one) => one !== '') ?? '';
    const from: number | null = at !== null && prompt.startsWith(text, at) ? at : startOf(text, next, prompt);
    at = from === null ? null : from + text.length;
    if (from === null) kept.push(line);
  }
  return kept;
}

/** The position in the prompt at which an echo starts with this line; null if none does. */
function startOf(text: string, next: () => string, prompt: string): number | null {
  if (text === prompt || (text.length >= LEAST_START && prompt.startsWith(text))) return 0;
  const following = next();
  if (following === '' || text.length + following.length < LEAST_MIDDLE) return null;
  const found = prompt.indexOf(text + following);
  return found < 0 ? null : found;
}

/** Blank lines within an echo. */
const MAX_GAP = 5;
/** Shorter beginnings could be anything. */
const LEAST_START = 3;
/** So are two short lines. */
const LEAST_MIDDLE = 20;

/** What programs put around a line of the prompt: a quotation mark, the border of a box, a prompt sign. */
const MARKS = /^[\s>|│┃▌❯›»$#*•]+/u;
const CLOSING_MARK = /[\s|│┃…]/u;

function unmarked(line: string): string {
  let end = line.length;
  while (CLOSING_MARK.test(line.charAt(end - 1))) end--;
  return bare(line.slice(0, end).replace(MARKS, ''));
}

function bare(text: string): string {
  return text.replaceAll(/\s+/gu, '');
}
