/**
 * Splits a command into words at whitespace outside of quotes, without a shell. A backslash escapes the next character,
 * except between single quotes. Null if a quote is not closed.
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

/** Whether a task is the bare word `commit`, which gets the message; any other task is run as it is. */
export function isCommit(task: string): boolean {
  const words = splitWords(task);
  return words?.length === 1 && words[0] === 'commit';
}
