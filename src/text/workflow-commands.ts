/**
 * Keeps the output of agents and checks from giving commands to the runner of a CI job.
 *
 * GitHub's runner and Azure's agent read the stdout and stderr of a step line by line, ended by \n, \r or both. They obey
 * `::command::` after leading white space of any kind, and `##[command]` and `##vso[command]` anywhere in a line. They
 * compare texts by the rules of a language, which ignore invisible characters. A backslash is put in front of the part
 * that makes a command of it: `\::add-mask::`, `##\[error]`.
 */

/** Whether a process with this environment prints into the log of a job that obeys commands. */
export function obeysCommands(env: NodeJS.ProcessEnv): boolean {
  return env['GITHUB_ACTIONS'] === 'true' || /^true$/i.test(env['TF_BUILD'] ?? '');
}

/** A text, which starts a line, without commands. */
export function withoutCommands(text: string): string {
  const guard = new CommandGuard();
  return guard.read(text) + guard.end();
}

/** JSON without commands, and with the same meaning: a `#` is written as an escape. */
export function jsonWithoutCommands(json: string): string {
  return json.replaceAll(patterns().anywhere, (match) => match.replace(/#(?=[^#]*$)/, String.raw`\u0023`));
}

/** The same as `withoutCommands` for text that arrives in pieces. */
export class CommandGuard {
  #rest = '';
  /** Whether the current line is blank so far. */
  #isBlank = true;

  read(piece: string): string {
    const text = this.#rest + piece;
    const held = patterns().unfinished.exec(this.#mark(text))?.[0].length ?? 0;
    this.#rest = held === 0 ? '' : text.slice(-held);
    return this.#guarded(held === 0 ? text : text.slice(0, -held));
  }

  /** What is still held back; the current line goes on after it. */
  end(): string {
    const rest = this.#rest;
    this.#rest = '';
    // Half a command: whatever follows could complete it.
    const half = rest === '' ? '' : `\\${rest}`;
    if (rest !== '') this.#isBlank = false;
    return half;
  }

  #guarded(text: string): string {
    const marked = this.#mark(text);
    const start = marked.length - text.length;
    const { atLineStart, anywhere, blankEnd } = patterns();
    this.#isBlank = blankEnd.test(marked);
    return marked
      .replaceAll(atLineStart, (_, blanks: string) => `${blanks}\\:`)
      .replaceAll(anywhere, (match) => `${match.slice(0, -1)}\\[`)
      .slice(start);
  }

  /** Puts a mark where the line has begun with something else. */
  #mark(text: string): string {
    return this.#isBlank ? text : `x${text}`;
  }
}

/** What makes a command of a text. */
interface Patterns {
  readonly atLineStart: RegExp;
  readonly anywhere: RegExp;
  readonly unfinished: RegExp;
  readonly blankEnd: RegExp;
}

let made: Patterns | null = null;

/** Made where they are needed: they take a millisecond, and most programs do not print into the log of a job. */
function patterns(): Patterns {
  made ??= {
    atLineStart: new RegExp(String.raw`^((?:${BLANK})*):(?=${I}:)`, 'gmu'),
    anywhere: new RegExp(`#${I}#${I}(?:v${I}s${I}o${I})?\\[`, 'giu'),
    unfinished: new RegExp(
      String.raw`(?:(?<=(?:^|[\r\n])(?:${BLANK})*):${I}|#${I}(?:#${I}(?:v${I}(?:s${I}(?:o${I})?)?)?)?)$`,
      'iu',
    ),
    blankEnd: new RegExp(String.raw`(?:^|[\r\n])(?:${BLANK})*$`, 'u'),
  };
  return made;
}

/** What the comparison ignores. */
const I = String.raw`[\p{Default_Ignorable_Code_Point}\p{Cf}\u0000-\u0008\u000E-\u001F\u007F-\u009F]{0,64}`;
const BLANK = String.raw`[^\S\r\n]|[\p{Default_Ignorable_Code_Point}\p{Cf}\u0000-\u0009\u000B\u000C\u000E-\u001F\u007F-\u009F]`;
