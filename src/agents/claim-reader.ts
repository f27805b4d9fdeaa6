/**
 * Searches the agent's own text for a claim to be done.
 *
 * 1. It reads what a person sees of the text, without what the agent repeats of its prompt.
 * 2. It reads complete lines, so the result does not depend on how the output is cut.
 */
import type { Claim, Detector, NearMiss } from '../loop/completion.ts';
import type { Search } from '../loop/pattern-matcher.ts';
import { startScan, type Piece, type Scanner } from '../loop/scan.ts';
import { echoOf, promptOf, type Echo } from './echo.ts';
import { RepeatedPrompt, type RepetitionReader, seenText } from './repeated-prompt.ts';

export class ClaimReader {
  readonly #detectors: readonly Detector[];
  readonly #folder: string;
  readonly #search: Search;
  #scanner: Scanner;
  /** For stderr, separately: the order of stdout and stderr is unknown. */
  #stderrScanner: Scanner;
  /** Null if claims on stderr do not count. */
  readonly #stderrEcho: Echo | null;
  #stderrLines: OwnLines | null = null;
  #prompt: RepeatedPrompt | null = null;
  /** The message that is being written. */
  #open: { readonly message: string; readonly lines: OwnLines; isEmpty: boolean } | null = null;
  #screens = 0;

  /** `folder` is that of the run; `readsStderr` for a command that may claim on either stream. */
  constructor(detectors: readonly Detector[], folder: string, readsStderr: boolean, search: Search) {
    this.#detectors = detectors;
    this.#folder = folder;
    this.#search = search;
    this.#scanner = startScan(detectors, search);
    this.#stderrScanner = this.#scanner;
    this.#stderrEcho = readsStderr ? echoOf(folder) : null;
  }

  /** Reads a piece of a message. */
  text(message: string, text: string): void {
    if (this.#open?.message !== message) {
      this.#close();
      this.#open = { message, lines: new OwnLines(this.#repeated().begin()), isEmpty: true };
    }
    this.#write(message, this.#open.lines.push(text));
  }

  /** Reads a text that is complete: an answer, or the last message again. */
  answer(source: 'answer' | 'last-message', text: string): void {
    this.#close();
    const lines = new OwnLines(this.#repeated().begin());
    this.#scan({ source, message: 'answer', text: lines.push(text) + lines.end() });
  }

  /** Reads what a terminal shows of the agent's own text now; only the last screen counts. */
  screen(text: string): void {
    // Another line shows that its last one is complete.
    const own = `${this.#repeated().without(seenText(text))}\n\n`;
    this.#scan({ source: 'screen', message: String(++this.#screens), text: own });
  }

  complaint(text: string): void {
    for (const { text: piece, isEcho } of this.#stderrEcho?.push(text) ?? [])
      if (!isEcho) this.#complain(this.#linesOfStderr().push(piece));
  }

  end(): void {
    this.#close();
    if (this.#stderrEcho === null) return;
    const lines = this.#linesOfStderr();
    for (const { text, isEcho } of this.#stderrEcho.end()) if (!isEcho) this.#complain(lines.push(text));
    this.#complain(lines.end());
  }

  /** The claim that ends the run, or with `ended` any claim of the run. */
  claim(ended: boolean): Claim | null {
    const early = this.#scanner.claim(false);
    if (!ended || early !== null) return early;
    return this.#scanner.claim(true) ?? this.#stderrScanner.claim(true);
  }

  nearMiss(): NearMiss | null {
    return this.#scanner.nearMiss();
  }

  #repeated(): RepeatedPrompt {
    return (this.#prompt ??= new RepeatedPrompt(promptOf(this.#folder), this.#detectors, this.#search));
  }

  #linesOfStderr(): OwnLines {
    return (this.#stderrLines ??= new OwnLines(this.#repeated().begin()));
  }

  #close(): void {
    const open = this.#open;
    if (open === null) return;
    this.#write(open.message, open.lines.end());
    // A message that only repeats the prompt is a message nevertheless: claims of earlier ones may not count any more.
    if (open.isEmpty) this.#write(open.message, '\n');
    this.#open = null;
  }

  #write(message: string, text: string): void {
    if (text === '') return;
    if (this.#open !== null) this.#open.isEmpty = false;
    this.#scan({ source: 'assistant', message, text });
    this.#scan({ source: 'raw', message: '', text });
  }

  #complain(text: string): void {
    this.#stderrScanner = this.#stderrScanner.read({ source: 'complaint', message: '', text });
  }

  #scan(piece: Piece): void {
    this.#scanner = this.#scanner.read(piece);
  }
}

/** Divides a text into lines, and returns what is the agent's own of those that are complete. */
class OwnLines {
  readonly #reader: RepetitionReader;
  #rest = '';

  constructor(reader: RepetitionReader) {
    this.#reader = reader;
  }

  push(text: string): string {
    const end = text.lastIndexOf('\n') + 1;
    const lines = end === 0 ? '' : this.#reader.read(seenText(this.#rest + text.slice(0, end)));
    this.#rest = (end === 0 ? this.#rest : '') + text.slice(end);
    return lines + this.#surplus();
  }

  end(): string {
    const rest = this.#rest;
    this.#rest = '';
    return rest === '' ? '' : this.#reader.read(seenText(rest));
  }

  /** An endless line must not fill the memory. */
  #surplus(): string {
    let surplus = '';
    while (this.#rest.length > MAX_LINE_LENGTH) {
      surplus += seenText(this.#rest.slice(0, MAX_LINE_LENGTH));
      this.#rest = this.#rest.slice(MAX_LINE_LENGTH);
    }
    return surplus;
  }
}

const MAX_LINE_LENGTH = 1024 * 1024;
