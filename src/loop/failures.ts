/** Finds the failing tests in the output of a check, line by line, whatever test runner printed it. */
import { REPORTERS, type Reporter } from './test-reporters.ts';

/** One failing test, or something else that a reporter names, such as a file that does not compile. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  /** What is wrong, in one line; empty if the reporter gives no message. */
  readonly says: string;
}

export interface Failures {
  /** The names of the reporters, in the order of the table. */
  readonly reporters: readonly string[];
  /** Never empty. */
  readonly failures: readonly Failure[];
  /** What the output has after the last failure: another command may have failed there. */
  readonly after: string;
}

/**
 * Reads an output once. It keeps the lines of failures and the last lines, so its memory is bounded by the size of the
 * part that is read.
 */
export class FailureScan {
  readonly #readers = REPORTERS.map((reporter) => new Reading(reporter));
  #last: string[] = [];
  #lastChars = 0;
  #count = 0;

  take(line: string): void {
    this.#count++;
    const isHeading = line.length <= MAX_HEADING_LENGTH && HEADING.test(line);
    for (const reader of this.#readers)
      if (reader.isOpen || (isHeading && reader.knows(line))) reader.take(line, this.#count);
    this.#last.push(line);
    this.#lastChars += line.length + 1;
    if (this.#lastChars > 2 * MAX_LAST_CHARS) this.#forgetOldLines();
  }

  /** A part of the output is left out here: it may contain the end of an open failure. */
  skip(): void {
    for (const reader of this.#readers) reader.close();
  }

  #forgetOldLines(): void {
    let chars = 0;
    const first = this.#last.findLastIndex((line) => (chars += line.length + 1) > MAX_LAST_CHARS);
    // A single long line is kept whole.
    this.#last = this.#last.slice(Math.min(first + 1, this.#last.length - 1));
    this.#lastChars = this.#last.reduce((sum, line) => sum + line.length + 1, 0);
  }

  /** What was found; null if there are no failures of a known reporter. `hide` masks secrets. */
  end(hide: (text: string) => string): Failures | null {
    const found = this.#readers.filter((reader) => reader.isRecognised);
    const failures = unique(found.flatMap((reader) => reader.failures(hide)));
    if (failures.length === 0) return null;
    const end = Math.max(...found.map((reader) => reader.lastLine));
    const firstKept = this.#count - this.#last.length;
    const after = this.#last
      .slice(Math.max(0, end - firstKept))
      .filter((line) => !found.some((reader) => reader.isAboutPassedTest(line)));
    return {
      reporters: found.map((reader) => reader.name),
      failures,
      after: hide(withoutNoiseAtEnd(after).join('\n')).trim(),
    };
  }
}

/** Enough for what is shown of the output after the last failure, and for a secret in it. */
const MAX_LAST_CHARS = 32 * 1024;

/** Lines longer than this are never a heading. */
const MAX_HEADING_LENGTH = 1000;

/** Matches every heading of these reporters at once: most lines of a long log are none. */
function headingsOf(reporters: readonly Reporter[]): RegExp {
  return new RegExp(
    reporters
      .flatMap(({ sign, begins, place, again, listed, runs, passes }) =>
        [sign, begins, place, again, listed, runs, passes].flatMap((pattern) => pattern?.source ?? []),
      )
      .join('|'),
  );
}

const HEADING = headingsOf(REPORTERS);

interface OpenFailure {
  readonly name: string;
  readonly lines: string[];
}

/** What one reporter has printed so far. */
class Reading {
  readonly #reporter: Reporter;
  readonly #headings: RegExp;
  #isSigned = false;
  #place: string | null = null;
  #open: OpenFailure | null = null;
  #found: OpenFailure[] = [];
  #listed: OpenFailure[] = [];
  /** The output of tests that may pass, by name. */
  readonly #running = new Map<string, string[]>();
  #current: string[] | null = null;
  /** The number of the last line that belongs to a failure. */
  lastLine = 0;

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
    this.#headings = headingsOf([reporter]);
  }

  /** Whether the line means something to this reporter, even outside of a failure. */
  knows(line: string): boolean {
    return this.#headings.test(line);
  }

  isAboutPassedTest(line: string): boolean {
    return line.length <= MAX_HEADING_LENGTH && this.#reporter.passed?.test(line) === true;
  }

  get name(): string {
    return this.#reporter.name;
  }

  get isRecognised(): boolean {
    return this.#isSigned && this.#found.length + this.#listed.length > 0;
  }

  get isOpen(): boolean {
    return this.#open !== null || this.#current !== null;
  }

  close(): void {
    this.#open = null;
    this.#current = null;
  }

  take(line: string, number: number): void {
    const known = this.#listed.length;
    // A line that ends a failure belongs to it if it has no words; others may begin the output of another command.
    const mayClose = this.#open !== null && !/\p{L}/u.test(line);
    if (line.length > MAX_HEADING_LENGTH || !this.#isHeading(line)) {
      this.#open?.lines.push(line);
      this.#current?.push(line);
    }
    if (mayClose || this.#open !== null || this.#listed.length > known) this.lastLine = number;
  }

  failures(hide: (text: string) => string): readonly Failure[] {
    const { except, inside } = this.#reporter;
    const found = this.#found.length > 0 ? this.#found : this.#listed;
    return found
      .filter(
        ({ name, lines }) => except === undefined || ![name, ...lines].some((line) => except.test(line)),
      )
      .filter(
        ({ name, lines }) =>
          inside === undefined ||
          lines.some((line) => line.trim() !== '') ||
          !found.some((other) => other.name.startsWith(name + inside)),
      )
      .map(({ name, lines }) => this.#failure(hide(name), hide(this.#messageOf(lines))));
  }

  /** Whether the line is not part of a message; takes note of what it means. */
  #isHeading(line: string): boolean {
    const { sign, begins, ends, place, again, listed, runs, passes } = this.#reporter;
    this.#isSigned ||= sign.test(line);
    if (again?.test(line) === true) {
      this.#found = [];
      this.close();
      return true;
    }
    const name = groupOf(begins, line);
    if (name !== null) {
      this.#begin(name);
      return true;
    }
    const where = place === undefined ? null : groupOf(place, line);
    if (where !== null) this.#place = where;
    const entry = listed?.exec(line);
    if (entry !== null && entry !== undefined)
      this.#listed.push({ name: entry[1] ?? '', lines: entry[2] === undefined ? [] : [entry[2]] });
    const isEnd = where !== null || (entry !== null && entry !== undefined) || ends.test(line);
    if (isEnd) this.close();
    const running = runs === undefined ? null : groupOf(runs, line);
    if (running !== null) {
      this.#current = this.#running.get(running) ?? [];
      this.#running.set(running, this.#current);
    }
    const passed = passes === undefined ? null : groupOf(passes, line);
    if (passed !== null) this.#running.delete(passed);
    return isEnd;
  }

  #begin(name: string): void {
    this.close();
    const lines = this.#running.get(name) ?? [];
    this.#running.delete(name);
    this.#open = { name: this.#place === null ? name : `${this.#place} › ${name}`, lines };
    this.#found.push(this.#open);
  }

  #messageOf(lines: readonly string[]): string {
    const { noise } = this.#reporter;
    return dedented(withoutNoiseAtEnd(lines.filter((line) => noise?.test(line) !== true)));
  }

  #failure(name: string, message: string): Failure {
    const { says, saysLast } = this.#reporter;
    return { name: name.trim(), message, says: whatIsWrong(message, says, saysLast === true) };
  }
}

/** The first group of a pattern that has matched; null if it does not match. */
function groupOf(pattern: RegExp, text: string): string | null {
  return (
    pattern
      .exec(text)
      ?.slice(1)
      .find((group) => group !== undefined) ?? null
  );
}

/** Some runners print a failure twice, for example for each target that it breaks. */
function unique(failures: readonly Failure[]): readonly Failure[] {
  const byText = new Map(failures.map((failure) => [`${failure.name}\n${failure.message}`, failure]));
  return [...byText.values()];
}

/** Without blank lines around the text, and without the indentation that all its lines have. */
function dedented(lines: readonly string[]): string {
  const first = lines.findIndex((line) => line.trim() !== '');
  const text = first < 0 ? [] : lines.slice(first);
  let indent = Number.POSITIVE_INFINITY;
  for (const line of text)
    if (line.trim() !== '') indent = Math.min(indent, /^[ \t]*/.exec(line)?.[0].length ?? 0);
  return text
    .map((line) => line.slice(indent))
    .join('\n')
    .trimEnd();
}

/** The lines up to the last one that says something about the check. */
export function withoutNoiseAtEnd(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => !isNoise(line)) + 1);
}

/** Whether a line says nothing about why a check failed: a blank line, a progress bar, a package manager's farewell. */
export function isNoise(line: string): boolean {
  return (
    line.trim() === '' || (line.length <= MAX_HEADING_LENGTH && NOISE.some((pattern) => pattern.test(line)))
  );
}

const NOISE: readonly RegExp[] = [
  /^npm (?:notice|warn|WARN)\b/,
  // The last lines of npm after a script that failed; the errors of npm itself have other codes and texts.
  /^npm (?:error|ERR!)\s*(?:$|A complete log of this run|Lifecycle script|Test failed|Exit status|Failed at the |This is probably not|(?:code|errno) (?:ELIFECYCLE|\d+)$|Error: command failed|command failed|command \S*sh -c |(?:path|workspace|location) |in workspace: |at location: )/,
  /^npm (?:error|ERR!)\s+\/.*-debug-\d+\.log$|^npm (?:error|ERR!)\s+\S+@\S+ \S+: `/,
  /^[\s\u2009]*(?:ELIFECYCLE|WARN|ERR_PNPM_RECURSIVE_\w+)\s{2,}/,
  /^error Command failed with exit code \d+\.$|^info Visit https:\/\/yarnpkg\.com\/|^Done in \d[\d.]*m?s\.?$/,
  // No word at all, and a percentage or the characters of a progress bar.
  /^[^\p{L}]*(?:\d%|[█▓▒░━⠁-⣿])[^\p{L}]*$/u,
];

/**
 * The sentence of a failure's message that says what is wrong: what `pattern` finds, or the first line. A sentence that ends
 * with a colon announces what follows, as `Expected values to be strictly equal:` does, so the next lines belong to it.
 */
function whatIsWrong(message: string, pattern: RegExp | undefined, takesLast: boolean): string {
  // A pattern may take very long on a very long line.
  const text = message
    .split('\n')
    .filter((line) => line.length <= MAX_LINE_LENGTH)
    .join('\n');
  const found = pattern === undefined ? null : sentenceIn(text, pattern, takesLast);
  if (found === null) {
    const [first = ''] = message.split('\n', 1);
    return [first.trim(), ...detailsAfter(message, first, first.length)].join('\n');
  }
  return [found.sentence.trim(), ...detailsAfter(text, found.sentence, found.end)].join('\n');
}

const MAX_LINE_LENGTH = 1000;

interface Found {
  readonly sentence: string;
  /** Where it ends in the text. */
  readonly end: number;
}

function sentenceIn(text: string, pattern: RegExp, takesLast: boolean): Found | null {
  let found: Found | null = null;
  for (const match of text.matchAll(new RegExp(pattern.source, `${pattern.flags}g`))) {
    const sentence = match.slice(1).find((group) => group !== undefined);
    if (sentence !== undefined) found = { sentence, end: match.index + match[0].length };
    if (!takesLast) break;
  }
  return found;
}

/** The next lines that are not blank: those of a diff, if there is one. */
function detailsAfter(text: string, sentence: string, end: number): readonly string[] {
  if (!sentence.trimEnd().endsWith(':')) return [];
  const line = text.slice(text.lastIndexOf('\n', end - 1) + 1, end);
  // After `error: text`, only lines with more indentation belong to the text.
  const least = indentOf(line) + (line.trimStart().startsWith(sentence.trim()) ? 0 : 1);
  const next = text.slice(end).split('\n', MAX_LINES_READ).slice(1);
  const last = next.findIndex((one) => one.trim() !== '' && (indentOf(one) < least || /^\s*at /.test(one)));
  const lines = (last < 0 ? next : next.slice(0, last)).filter(
    (one) => one.trim() !== '' && !/^\s*\+ actual - expected/.test(one),
  );
  const changed = lines.filter((one) => /^\s*[+-] /.test(one));
  return (changed.length > 0 ? changed : lines)
    .slice(0, MAX_DETAILS)
    .map((one) => one.trim().slice(0, MAX_DETAIL_LENGTH));
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

const MAX_LINES_READ = 40;
const MAX_DETAILS = 2;
const MAX_DETAIL_LENGTH = 200;
