/**
 * The simple commands of a shell line, each as its words. Good enough to see which files and programs a check names:
 * nothing is expanded, and a word that the shell would expand stays as it is written.
 */
export function simpleCommands(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  let word: string | null = null;
  const endWord = (): void => {
    if (word !== null) commands.at(-1)?.push(word);
    word = null;
  };
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? '';
    if (char === '\\') word = `${word ?? ''}${line[++at] ?? ''}`;
    else if (char === '"' || char === "'") {
      const end = endOfQuote(line, at);
      word = `${word ?? ''}${line.slice(at + 1, end)}`;
      at = end;
    } else if (/[;&|()\n`]/.test(char)) {
      endWord();
      commands.push([]);
    } else if (/[\s<>]/.test(char)) endWord();
    else if (char === '#' && word === null) at = endOfLine(line, at) - 1;
    else word = `${word ?? ''}${char}`;
  }
  endWord();
  return commands.filter((words) => words.length > 0);
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
