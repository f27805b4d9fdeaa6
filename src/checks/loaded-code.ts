/**
 * The scripts that a command runs, and the code that a script loads, as far as its text says: one row per language. Paths that
 * are made at run time and packages are not known.
 */
import { simpleCommands, nameOf, unwrapped } from './shell-words.ts';

export interface Language {
  /** The programs that run such a script. */
  readonly programs: RegExp;
  /** Such a script, by its name. */
  readonly files: RegExp;
  /** The options of these programs that have a value, by what the value is. */
  readonly options: LanguageOptions;
  /** The files that a text may load, relative to the script. */
  readonly loads: (text: string) => readonly string[];
  /** Whether it also looks in the current folder. */
  readonly usesCurrentFolder?: true;
}

interface LanguageOptions {
  /** Neither code nor the name of a script. */
  readonly values: RegExp;
  readonly code: RegExp;
  /** A script that is loaded before the other one. */
  readonly scripts?: RegExp;
  readonly module?: RegExp;
  /** No value: the files behind this option are tests. */
  readonly tests?: RegExp;
}

/** A script without a first line that names its program. */
export const SHELL: Language = {
  programs: /^(?:\.|source|(?:ba|da|k|z|a)?sh)$/,
  files: /\.(?:ba|k|z)?sh$/,
  options: { values: /^(?:[-+]\w*o|[-+]O|--rcfile|--init-file)$/, code: /^-\w*c$/ },
  loads: (text) => text.split('\n').flatMap(sourced),
  usesCurrentFolder: true,
};

const LANGUAGES: readonly Language[] = [
  SHELL,
  {
    programs: /^(?:node|nodejs|bun|deno|tsx|ts-node|ts-node-esm|vite-node|babel-node|jiti)$/,
    files: /\.[cm]?[jt]sx?$/,
    options: {
      values:
        /^(?:-[CPO]|--(?:conditions|env-file|env-file-if-exists|tsconfig|project|config|import-map)|-c)$/,
      code: /^(?:-e|-p|-pe|--eval|--print)$/,
      scripts: /^(?:-r|--(?:require|import|loader|experimental-loader|preload))$/,
      tests: /^--test$/,
    },
    loads: (text) => pathsIn(text).flatMap(javaScriptFiles),
  },
  {
    programs: /^(?:python|pypy)[\d.]*$/,
    files: /\.pyw?$/,
    options: { values: /^-[WX]$/, code: /^-\w*c$/, module: /^-\w*m$/ },
    loads: (text) =>
      [...text.matchAll(/^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import\b|import[ \t]+([\w., \t]+))/gm)]
        .flatMap(([, from, list = '']) => (from === undefined ? list.split(',') : [from]))
        .flatMap((name) => moduleFiles(name.trim().split(/[ \t]/)[0] ?? '')),
  },
];

function pathsIn(text: string): readonly string[] {
  const found = text.matchAll(/\b(?:from|import|require)\s{0,9}\(?\s{0,9}['"](\.{1,2}\/[^'"\n]+)['"]/g);
  return Array.from(found, ([, path = '']) => path);
}

/** The files that a path in JavaScript or TypeScript can mean. */
function javaScriptFiles(path: string): readonly string[] {
  return [path, path.replace(/\.([cm]?)js$/, '.$1ts')].concat(JS_ENDS.map((end) => `${path}${end}`));
}

const JS_ENDS = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.json', '/index.js', '/index.ts'];

/** The language of scripts that a program runs; null if it runs none. */
export function languageOf(program: string): Language | null {
  return LANGUAGES.find(({ programs }) => programs.test(nameOf(program))) ?? null;
}

/** The language that the first line of a script names or, as `named`, who runs it; else that of its name. */
export function languageOfScript(text: string, named: Language | null, path: string): Language {
  const words = /^#!(.*)/.exec(text)?.[1]?.trim().split(/\s+/) ?? [];
  const [program = ''] = unwrapped(words);
  return languageOf(program) ?? named ?? LANGUAGES.find(({ files }) => files.test(path)) ?? SHELL;
}

/** The files that a line of a shell script loads. What is expanded in front of a path is taken for the script's folder. */
function sourced(line: string): readonly string[] {
  const plain = EXPANSIONS.reduce((text, expansion) => text.replaceAll(expansion, '$$0'), line);
  return simpleCommands(plain).flatMap((words) => {
    const [program, path] = unwrapped(words);
    const name =
      (program === '.' || program === 'source' ? path : undefined)?.replace(/^.*\$\w+\//, '') ?? '';
    return name === '' || name.includes('$') ? [] : [name];
  });
}

/** Innermost first. */
const EXPANSIONS = [/\$\{[^{}]*\}/g, /\$\([^()]*\)/g, /\$\([^()]*\)/g, /`[^`]*`/g];

/** The files of a Python module beside the script: `a.b` is `a/b.py` or a package. */
function moduleFiles(name: string): readonly string[] {
  const path = name.replace(/^\./, '').replaceAll('.', '/');
  return path === '' ? [] : [`${path}.py`, `${path}/__init__.py`];
}

interface RunScripts {
  readonly scripts: readonly string[];
  /** Code in the command itself; null if it has none. */
  readonly code: string | null;
  /** Whether the scripts are modules, which the language looks for in the current folder. */
  readonly areModules: boolean;
}

/** The scripts in the words behind a program that runs scripts, or the code that is in them. */
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
      return { scripts: programFiles(value()), code: null, areModules: true };
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
function programFiles(name: string): readonly string[] {
  const path = name.replaceAll('.', '/');
  return [`${path}.py`, `${path}/__main__.py`];
}
