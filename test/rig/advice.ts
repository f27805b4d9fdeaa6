/** The commands that Ralph's messages advise, found in the source. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandOptions } from '../../src/cli/program.ts';

const SOURCE = new URL('../../src/', import.meta.url).pathname;

/**
 * Every command of Ralph in a text of the source: `cli/attach.ts: ralph logs … -f`, and those of git, `chmod` and `rm` that the
 * person should run. Values of templates are `…`; the second one of the same form in a file ends with `#2`.
 */
export function advisedCommands(): readonly string[] {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) =>
      numbered(commandsIn(readFileSync(join(SOURCE, file), 'utf8'))).map((one) => `${file}: ${one}`),
    )
    .toSorted();
}

function numbered(commands: readonly string[]): readonly string[] {
  const count = new Map<string, number>();
  return commands.map((command) => {
    const number = (count.get(command) ?? 0) + 1;
    count.set(command, number);
    return number === 1 ? command : `${command} #${number}`;
  });
}

function commandsIn(source: string): readonly string[] {
  const code = source.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(?<=^|\s)\/\/ .*$/gm, '');
  return [...code.matchAll(COMMAND), ...code.matchAll(OTHER)].map(([command]) =>
    command.replaceAll(/(?:\$\{[^}]*\}|…)+/g, '…'),
  );
}

const names = [...commandOptions().keys()].toSorted((a, b) => b.length - a.length).join('|');
const VALUE = String.raw`\$\{[^}]*\}|…|[A-Z]{2,}(?:_[A-Z]+)*`;
/** An option, a value, quoted words or a setting: what is no word of a sentence. */
const ARGUMENT = String.raw` (?:--?[a-z][-a-z]*|"[^"]*"|'[^']*'|[-a-z]*=?(?:${VALUE})(?:${VALUE}|\.\.[a-z]+|=)*)`;
const COMMAND = new RegExp(
  String.raw`\bralph (?:--help|help|(?:${names})(?![-\w])|\$\{(?:name|command|path)\})(?:${ARGUMENT})*`,
  'g',
);
/** Commands of other programs, where a message says that the person should run them. */
const OTHER = new RegExp(
  String.raw`(?<=\b(?:with|run|try|or): |with: git config user.name "…" and |&& )(?:git (?:bisect reset|config user\.\w+|[a-z][-a-z]*|\$\{command\})|chmod \+x|rm)(?:${ARGUMENT})*`,
  'g',
);
