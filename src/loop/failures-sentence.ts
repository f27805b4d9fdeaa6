/**
 * The sentence of a failure's message that says what is wrong: what `pattern` finds, or the first line. A sentence that ends
 * with a colon announces what follows, as `Expected values to be strictly equal:` does, so the next lines belong to it.
 */
export function whatIsWrong(message: string, pattern: RegExp | undefined, takesLast: boolean): string {
  // A pattern may take very long on a very long line.
  const text = message
    .split('\n')
    .filter((line) => line.length <= MAX_LINE_LENGTH)
    .join('\n');
  const found = pattern === undefined ? null : sentenceIn(text, pattern, takesLast);
  if (found === null) {
    const [first = ''] = message.split('\n', 1);
    return [first.trim(), ...detailsAfter(message, first, first.length)].join('\n');
  }
  return [found.sentence.trim(), ...detailsAfter(text, found.sentence, found.end)].join('\n');
}

const MAX_LINE_LENGTH = 1000;

interface Found {
  readonly sentence: string;
  /** Where it ends in the text. */
  readonly end: number;
}

function sentenceIn(text: string, pattern: RegExp, takesLast: boolean): Found | null {
  let found: Found | null = null;
  for (const match of text.matchAll(new RegExp(pattern.source, `${pattern.flags}g`))) {
    const sentence = match.slice(1).find((group) => group !== undefined);
    if (sentence !== undefined) found = { sentence, end: match.index + match[0].length };
    if (!takesLast) break;
  }
  return found;
}

/** The next lines that are not blank: those of a diff, if there is one. */
function detailsAfter(text: string, sentence: string, end: number): readonly string[] {
  if (!sentence.trimEnd().endsWith(':')) return [];
  const line = text.slice(text.lastIndexOf('\n', end - 1) + 1, end);
  // After `error: text`, only lines with more indentation belong to the text.
  const least = indentOf(line) + (line.trimStart().startsWith(sentence.trim()) ? 0 : 1);
  const next = text.slice(end).split('\n', MAX_LINES_READ).slice(1);
  const last = next.findIndex((one) => one.trim() !== '' && (indentOf(one) < least || /^\s*at /.test(one)));
  const lines = (last < 0 ? next : next.slice(0, last)).filter(
    (one) => one.trim() !== '' && !/^\s*\+ actual - expected/.test(one),
  );
  const changed = lines.filter((one) => /^\s*[+-] /.test(one));
  return (changed.length > 0 ? changed : lines)
    .slice(0, MAX_DETAILS)
    .map((one) => one.trim().slice(0, MAX_DETAIL_LENGTH));
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

const MAX_LINES_READ = 40;
const MAX_DETAILS = 2;
const MAX_DETAIL_LENGTH = 200;
