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

/**
 * What a simple command really runs, behind words of the shell (`if`, `!`), assignments and programs that run another one:
 * `if CI=1 timeout -k 5 60 npm test` runs `npm test`. One row per kind of wrapper.
 */
export function unwrapped(words: readonly string[]): readonly string[] {
  let rest = withoutAssignments(words);
  for (;;) {
    const [program = '', next = ''] = rest;
    const pair = WRAPPERS.get(`${nameOf(program)} ${next}`);
    const wrapper = pair ?? WRAPPERS.get(nameOf(program));
    if (wrapper === undefined) return rest;
    rest = wrapped(rest.slice(pair === undefined ? 1 : 2), wrapper);
  }
}

/** The name of a program without its folder. */
export function nameOf(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}

interface Wrapper {
  /** Its options that have the next word as their value. */
  readonly values: ReadonlySet<string>;
  /** How many words it takes before the command. */
  readonly words: number;
}

const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map(
  (
    [
      // The words of the shell.
      ['if, elif, while, until, then, else, do, {, !', '', 0],
      ['time', '-f --format -o --output', 0],
      ['command, builtin, nohup, setsid, xvfb-run, chronic, unbuffer', '', 0],
      ['exec', '-a', 0],
      ['env', '-u --unset -C --chdir', 0],
      ['nice', '-n --adjustment', 0],
      ['ionice', '-c -n', 0],
      ['stdbuf', '-i -o -e', 0],
      ['sudo', '-u --user -g --group -h -p -C -D', 0],
      ['timeout, gtimeout', '-k --kill-after -s --signal', 1],
      ['flock', '-w --timeout -E', 1],
      ['xargs', '-n -P -I -L -d -s -a -E', 0],
      ['cross-env', '', 0],
      ['dotenv, dotenvx run', '-e -f -v -c', 0],
      ['npx, bunx, pnpx, bun x, npm exec, npm x', '-p --package -w --workspace', 0],
      ['pnpm exec, pnpm dlx, yarn exec, yarn dlx', '-p --package -C --dir', 0],
      [
        'uv run, uvx',
        '-p --python --with --with-editable --with-requirements --from --extra --group --only-group --env-file --project --package --directory',
        0,
      ],
      ['poetry run, pipenv run, pdm run, rye run, hatch run, bundle exec', '', 0],
    ] as const
  ).flatMap(([programs, values, taken]) =>
    programs
      .split(', ')
      .map((name): [string, Wrapper] => [name, { values: new Set(values.split(' ')), words: taken }]),
  ),
);

/** The command in the words behind a wrapper. */
function wrapped(words: readonly string[], { values, words: taken }: Wrapper): readonly string[] {
  let at = 0;
  while (/^-./.test(words[at] ?? '')) at += values.has(words[at] ?? '') ? 2 : 1;
  return withoutAssignments(words.slice(at + taken));
}

function withoutAssignments(words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  return at < 0 ? [] : words.slice(at);
}
