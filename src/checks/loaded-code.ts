/**
 * The code that a script loads, as far as its text says: one row per language. Paths that are made at run time and packages
 * are not known.
 */
import { simpleCommands } from './shell-words.ts';

export interface Language {
  /** The programs that run such a script. */
  readonly programs: RegExp;
  /** The files that a text may load, relative to the script. */
  readonly loads: (text: string) => readonly string[];
  /** Whether it also looks in the current folder. */
  readonly usesCurrentFolder?: true;
}

/** A script without a first line that names its program. */
export const SHELL: Language = {
  programs: /^(?:\.|source|(?:ba|da|k|z|a)?sh)$/,
  loads: (text) => text.split('\n').flatMap(sourced),
  usesCurrentFolder: true,
};

const LANGUAGES: readonly Language[] = [
  SHELL,
  {
    programs: /^(?:node|nodejs|bun|deno|tsx|ts-node)$/,
    loads: (text) => pathsIn(text).flatMap(javaScriptFiles),
  },
  {
    programs: /^python[\d.]*$/,
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
  const name = program.includes('/') ? program.slice(program.lastIndexOf('/') + 1) : program;
  return LANGUAGES.find(({ programs }) => programs.test(name)) ?? null;
}

/** The language that the first line of a script names; null if it names none of them. */
export function languageIn(text: string): Language | null {
  const words = /^#!(.*)/.exec(text)?.[1]?.trim().split(/\s+/) ?? [];
  const program = words.find(
    (word, index) => !(index === 0 && /(?:^|\/)env$/.test(word)) && !/^-|=/.test(word),
  );
  return program === undefined ? null : languageOf(program);
}

/** The files that a line of a shell script loads. What is expanded in front of a path is taken for the script's folder. */
function sourced(line: string): readonly string[] {
  const plain = EXPANSIONS.reduce((text, expansion) => text.replaceAll(expansion, '$$0'), line);
  return simpleCommands(plain).flatMap((words) => {
    const at = words.findIndex((word) => !BEFORE.has(word));
    const path = words[at] === '.' || words[at] === 'source' ? words[at + 1] : undefined;
    const name = path?.replace(/^.*\$\w+\//, '') ?? '';
    return name === '' || name.includes('$') ? [] : [name];
  });
}

/** Innermost first. */
const EXPANSIONS = [/\$\{[^{}]*\}/g, /\$\([^()]*\)/g, /\$\([^()]*\)/g, /`[^`]*`/g];
const BEFORE: ReadonlySet<string> = new Set(['then', 'do', 'else', '{', '!']);

/** The files of a Python module beside the script: `a.b` is `a/b.py` or a package. */
function moduleFiles(name: string): readonly string[] {
  const path = name.replace(/^\./, '').replaceAll('.', '/');
  return path === '' ? [] : [`${path}.py`, `${path}/__init__.py`];
}
