/**
 * The files that a check runs, as far as its command says: paths in it, the scripts of package.json that it names and the
 * paths in them, and the Makefile with the recipes of its targets. Of a script, the code that it loads; what else it does is not
 * known.
 */
import { isRecord } from '../loop/shape.ts';
import { languageOf, languageOfScript, SHELL, type Language, scriptsRunBy } from './loaded-code.ts';
import { recipesIn } from './makefile.ts';
import { simpleCommands, unwrapped } from './shell-words.ts';
import { isTestFile } from './test-files.ts';

/** The files at the loop's start; paths are relative to the workspace and may begin with `../`. */
export interface StartFiles {
  has(path: string): boolean;
  /** Null if there is no such file. */
  read(path: string): Promise<string | null>;
}

export interface CheckFiles {
  /** Files that count as a whole. */
  readonly files: ReadonlySet<string>;
  /** By package.json: the scripts that count, also those that do not exist yet (`pretest`). */
  readonly scripts: ReadonlyMap<string, ReadonlySet<string>>;
}

export async function checkFiles(commands: readonly string[], start: StartFiles): Promise<CheckFiles> {
  const search = new Search(start);
  // oxlint-disable-next-line no-await-in-loop -- few, and each may read a file
  for (const command of commands) await search.command(command, '', 0);
  await search.addLoadedCode();
  return search;
}

/** Scripts that call scripts that call scripts. */
const MAX_DEPTH = 8;

class Search implements CheckFiles {
  readonly files = new Set<string>();
  readonly scripts = new Map<string, Set<string>>();
  readonly #start: StartFiles;
  readonly #seen = new Set<string>();
  /** The scripts that run, and how. */
  readonly #run = new Map<string, RunScript>();

  constructor(start: StartFiles) {
    this.#start = start;
  }

  async command(line: string, from: string, depth: number): Promise<void> {
    if (depth > MAX_DEPTH || this.#seen.has(`${from}\0${line}`)) return;
    this.#seen.add(`${from}\0${line}`);
    let folder = from;
    for (const words of simpleCommands(line)) {
      const [program = '', ...args] = unwrapped(words);
      if (!isReader(program, args)) this.#addPaths(words, folder);
      // oxlint-disable-next-line no-await-in-loop -- in the order of the line
      await this.#program(program, args, folder, depth);
      if (program === 'cd') folder = joined(folder, args[0] ?? '');
    }
  }

  async #program(program: string, args: readonly string[], folder: string, depth: number): Promise<void> {
    const language = languageOf(program);
    if (language === null) this.#noteScript(program, { folder, isModule: false, language });
    else await this.#scripts(language, args, folder, depth);
    if (LINES.has(program))
      // oxlint-disable-next-line no-await-in-loop -- few
      for (const line of args) await this.command(line, folder, depth + 1);
    if (RUNNERS.has(program) || args.includes('--run')) {
      // `yarn tsx check.ts` runs a program of a package.
      const at = language === null ? args.findIndex((word) => languageOf(word) !== null) : -1;
      if (at >= 0) await this.#program(args[at] ?? '', args.slice(at + 1), folder, depth);
      await this.#packageScripts(args, inFolder(args, folder, ['--prefix', '-C', '--cwd', '--dir']), depth);
    } else if (program === 'make' || program === 'gmake')
      await this.#make(args, inFolder(args, folder, ['-C', '--directory']), depth);
  }

  /** Every word that is a file, also as the value of an option: `--config=jest.ci.js`. */
  #addPaths(words: readonly string[], folder: string): void {
    for (const word of words) {
      const value = /^-{1,2}[\w-]+=(.+)$/s.exec(word)?.[1] ?? word;
      const path = joined(folder, value);
      // Of package.json only scripts count.
      if (path !== '' && !path.endsWith('package.json') && this.#start.has(path)) this.files.add(path);
    }
  }

  /** Notes the scripts that a program of a language runs, and follows the code in its words. */
  async #scripts(language: Language, args: readonly string[], folder: string, depth: number): Promise<void> {
    const { scripts, code, areModules } = scriptsRunBy(language, args);
    this.#addPaths(scripts, folder);
    for (const script of scripts) this.#noteScript(script, { folder, isModule: areModules, language });
    if (code === null) return;
    if (language === SHELL) await this.command(code, folder, depth + 1);
    else this.#addPaths(language.loads(code), folder);
  }

  #noteScript(script: string, run: RunScript): void {
    const path = joined(run.folder, script);
    // What a test imports is the work.
    if (path !== '' && this.#start.has(path) && !isTestFile(path)) this.#run.set(path, run);
  }

  /** Adds what the noted scripts load. */
  async addLoadedCode(): Promise<void> {
    for (const [script, { folder, isModule, language: named }] of this.#run) {
      // oxlint-disable-next-line no-await-in-loop -- few
      const text = (await this.#start.read(script))?.slice(0, MAX_SCRIPT) ?? '';
      const { loads, usesCurrentFolder } = languageOfScript(text, named, script);
      const folders = [folderOf(script), ...(isModule || usesCurrentFolder === true ? [folder] : [])];
      const paths = loads(text);
      for (const from of folders) this.#addPaths(paths, from);
    }
  }

  async #packageScripts(args: readonly string[], folder: string, depth: number): Promise<void> {
    const file = this.#nearest(folder, 'package.json');
    const known = file === null ? null : scriptsIn(await this.#start.read(file));
    if (file === null || known === null) return;
    const used = this.scripts.get(file) ?? new Set<string>();
    this.scripts.set(file, used);
    for (const name of args.flatMap((word) => scriptsNamed(word, known))) {
      for (const script of [`pre${name}`, name, `post${name}`]) {
        used.add(script);
        // oxlint-disable-next-line no-await-in-loop -- in the order in which they run
        await this.command(known.get(script) ?? '', folderOf(file), depth + 1);
      }
    }
  }

  async #make(args: readonly string[], folder: string, depth: number): Promise<void> {
    const given = valueOf(args, ['-f', '--file', '--makefile']);
    const names = given === null ? MAKEFILES : [given];
    const file = names.map((name) => joined(folder, name)).find((path) => this.#start.has(path));
    const text = file === undefined ? null : await this.#start.read(file);
    if (file === undefined || text === null) return;
    this.files.add(file);
    const { included, lines } = recipesIn(
      text,
      args.filter((word) => !/^-|=/.test(word)),
    );
    this.#addPaths(included, folder);
    // oxlint-disable-next-line no-await-in-loop -- few lines
    for (const line of lines) await this.command(line, folder, depth + 1);
  }

  /** A file in a folder or in the nearest folder above it. */
  #nearest(folder: string, name: string): string | null {
    for (let at = folder, up = 0; up < MAX_FOLDERS; at = joined(at, '..'), up++) {
      const path = joined(at, name);
      if (this.#start.has(path)) return path;
    }
    return null;
  }
}

/** Code is loaded at the beginning of a script. */
const MAX_SCRIPT = 256 * 1024;

/** How a check runs a script. */
interface RunScript {
  readonly folder: string;
  /** Whether its language looks for modules in that folder. */
  readonly isModule: boolean;
  /** Null if no program says it. */
  readonly language: Language | null;
}

const MAX_FOLDERS = 10;
const MAKEFILES = ['GNUmakefile', 'makefile', 'Makefile'];

/** Programs that look at the work and run nothing: `grep -q fixed README.md` checks README.md. */
function isReader(program: string, args: readonly string[]): boolean {
  if (program === 'test' || program === '[' || program === '[[') return true;
  // The patterns in a file decide the result.
  return /^[ef]?grep$/.test(program) && !args.some((word) => /^-\w*f|^--file/.test(word));
}

/** Programs whose words are command lines. */
const LINES: ReadonlySet<string> = new Set(['eval', 'concurrently', 'cross-env-shell']);

/** Programs whose words are names of scripts in package.json. */
const RUNNERS: ReadonlySet<string> = new Set(
  'npm pnpm yarn bun run-s run-p npm-run-all npm-run-all2 concurrently turbo nx lerna'.split(' '),
);

function scriptsIn(text: string | null): ReadonlyMap<string, string> | null {
  const scripts = packageScripts(text ?? '');
  return scripts === null
    ? null
    : new Map(
        Object.entries(scripts).map(([name, script]) => [name, typeof script === 'string' ? script : '']),
      );
}

/** The scripts of a package.json; null if it cannot be read as one. */
export function packageScripts(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const content: unknown = JSON.parse(text);
    if (!isRecord(content)) return null;
    return isRecord(content['scripts']) ? content['scripts'] : {};
  } catch {
    return null;
  }
}

/** The scripts that a word of a package manager names: `test`, `t`, `npm:test`, `test:*`. */
function scriptsNamed(word: string, known: ReadonlyMap<string, string>): readonly string[] {
  const name = SHORT.get(word) ?? word.replace(/^npm:/, '');
  if (known.has(name) || name === 'test') return [name];
  if (!name.endsWith('*')) return [];
  let end = name.length;
  while (name[end - 1] === '*') end--;
  return [...known.keys()].filter((script) => script.startsWith(name.slice(0, end)));
}

const SHORT: ReadonlyMap<string, string> = new Map([
  ['t', 'test'],
  ['tst', 'test'],
]);

/** The folder that an option names. */
function inFolder(args: readonly string[], folder: string, options: readonly string[]): string {
  const given = valueOf(args, options);
  return given === null ? folder : joined(folder, given);
}

function valueOf(args: readonly string[], options: readonly string[]): string | null {
  for (const [at, word] of args.entries()) {
    if (options.includes(word)) return args[at + 1] ?? null;
    const option = options.find((one) => word.startsWith(`${one}=`));
    if (option !== undefined) return word.slice(option.length + 1);
  }
  return null;
}

/** A path relative to a folder, without `.` and inner `..`; empty for an absolute path. */
function joined(folder: string, path: string): string {
  if (path.startsWith('/')) return '';
  const names: string[] = [];
  for (const name of `${folder}/${path}`.split('/')) {
    if (name === '' || name === '.') continue;
    if (name === '..' && names.length > 0 && names.at(-1) !== '..') names.pop();
    else names.push(name);
  }
  return names.join('/');
}

function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}
