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
