/** The scripts in the words behind a program that runs scripts, or the code that is in them. */
import { type Language } from './loaded-code.ts';

export interface RunScripts {
  readonly scripts: readonly string[];
  /** Code in the command itself; null if it has none. */
  readonly code: string | null;
  /** Whether the scripts are modules, which the language looks for in the current folder. */
  readonly areModules: boolean;
}

export function scriptsRunBy({ options }: Language, args: readonly string[]): RunScripts {
  const scripts: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    const [, option = word, joined] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
    const value = (): string => joined ?? args[++at] ?? '';
    // What a test imports is the work.
    if (options.tests?.test(option) === true) break;
    if (options.code.test(option)) return { scripts, code: value(), areModules: false };
    if (options.module?.test(option) === true)
      return { scripts: moduleFiles(value()), code: null, areModules: true };
    if (options.scripts?.test(option) === true) scripts.push(value());
    else if (options.values.test(option)) value();
    else if (!/^[-+]./.test(word) && !SUBCOMMANDS.has(word)) {
      scripts.push(word);
      break;
    }
  }
  return { scripts, code: null, areModules: false };
}

/** `deno run check.ts`, `tsx watch check.ts`. */
const SUBCOMMANDS: ReadonlySet<string> = new Set(['run', 'watch']);

/** The files that `python -m a.b` can mean. */
function moduleFiles(name: string): readonly string[] {
  const path = name.replaceAll('.', '/');
  return [`${path}.py`, `${path}/__main__.py`];
}
