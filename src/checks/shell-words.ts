/**
 * The simple commands of a shell line, each as its words. Good enough to see which files and programs a check names:
 * nothing is expanded, and a word that the shell would expand stays as it is written. The target of an output is no word;
 * a file that is read (`< file`) is one.
 */
export function simpleCommands(line: string): readonly (readonly string[])[] {
  const commands: (readonly string[])[] = [];
  let words: string[] = [];
  let word: string | null = null;
  let isOutput = false;
  const endWord = (): void => {
    if (word === null) return;
    if (!isOutput) words.push(word);
    word = null;
    isOutput = false;
  };
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? '';
    if (char === '\\') word = `${word ?? ''}${line[++at] ?? ''}`;
    else if (char === '"' || char === "'") {
      const end = endOfQuote(line, at);
      const quoted = line.slice(at + 1, end);
      if (char === '"') commands.push(...substituted(quoted));
      word = `${word ?? ''}${quoted}`;
      at = end;
    } else if (/[<>]/.test(char) || line.startsWith('&>', at)) {
      // The number of a descriptor, as in `2>`.
      if (/^\d+$/.test(word ?? '')) word = null;
      endWord();
      const [operator = char] = /^&?[<>]+[&|]?/.exec(line.slice(at)) ?? [];
      isOutput = operator.includes('>');
      at += operator.length - 1;
    } else if (/[;&|()\n`]/.test(char)) {
      endWord();
      isOutput = false;
      commands.push(words);
      words = [];
    } else if (/\s/.test(char)) endWord();
    else if (char === '#' && word === null) at = endOfLine(line, at) - 1;
    else word = `${word ?? ''}${char}`;
  }
  endWord();
  return [...commands, words].filter(({ length }) => length > 0);
}

/** The commands whose output is in a text in double quotes. */
function substituted(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/\$\(([^()]*)\)|`([^`]*)`/g)].flatMap(([, inner, old]) =>
    simpleCommands(inner ?? old ?? ''),
  );
}

function endOfQuote(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at++) {
    if (line[at] === '\\' && line[start] === '"') at++;
    else if (line[at] === line[start]) return at;
  }
  return line.length;
}

function endOfLine(line: string, from: number): number {
  const end = line.indexOf('\n', from);
  return end < 0 ? line.length : end;
}
