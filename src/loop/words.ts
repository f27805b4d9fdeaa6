/**
 * The words of a command, split at blanks outside of quotes; a backslash takes the next character as it is, except
 * between single quotes. No shell ever sees them. Null where a quote is not closed.
 */
export function splitWords(text: string): readonly string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? '';
    if (char === '\\' && quote !== "'" && at + 1 < text.length) word = (word ?? '') + (text[++at] ?? '');
    else if (quote !== null && char === quote) quote = null;
    else if (quote === null && (char === '"' || char === "'")) {
      quote = char;
      word ??= '';
    } else if (quote === null && /\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + char;
  }
  if (quote !== null) return null;
  return word === null ? words : [...words, word];
}

/** Whether a task is the one that gets the message: the bare word. Any other is run as it stands. */
export function isCommit(task: string): boolean {
  const words = splitWords(task);
  return words?.length === 1 && words[0] === 'commit';
}
