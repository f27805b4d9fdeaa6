/**
 * Writes to stdout and stderr, which may be the same terminal.
 *
 * 1. A reader that goes away (`| head -1`, a closed terminal) does not stop the loop.
 * 2. Output of the agent cannot move the cursor, change the title or clear the screen of a terminal, now or when a log is shown.
 * 3. Everything is masked here, wherever it is printed.
 */
import { fstatSync } from 'node:fs';
import { painter } from './line-options.ts';
import { cannotPrint, harmless, READER_IS_GONE } from './print.ts';
import type { Mask } from '../loops/loops.ts';
import { Outlet } from '../text/outlet.ts';
import { obeysCommands } from '../text/workflow-commands.ts';

/** Colour for stderr. */
export const paint: ReturnType<typeof painter> = painter(process.stderr);

/** Bytes that may wait for a slow reader; more are dropped, so that memory does not grow. */
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

/** How long the last word of an unfinished line waits for its rest. */
const PAUSE_MS = 200;

/** How long to wait for a reader that reads nothing at all. */
const STALLED_READER_MS = 5000;

export class Screen {
  /** Whether stdout and stderr go to the same terminal, file or pipe. */
  readonly isShared: boolean = isSharedOutput();
  /** Whether stderr is a terminal with room for a status line. */
  readonly hasStatusLine: boolean;
  readonly #droppedText: string;
  readonly #lostText: string;
  #hasExplained = false;
  readonly #droppedFrom = new Set<NodeJS.WriteStream>();
  readonly #mask: Mask;
  readonly #stdout: Outlet;
  readonly #stderr: Outlet;
  #pause: NodeJS.Timeout | null = null;
  #isStatusDrawn = false;
  #isStalled = false;
  #hasColour = false;
  #atLineStart = true;
  /** The same for stdout, where it is not shared with stderr. */
  #stdoutAtLineStart = true;

  constructor(options: ScreenOptions) {
    const { stdout, stderr, env } = process;
    this.#mask = options.mask;
    const isJob = obeysCommands(env);
    this.#stdout = new Outlet(options.mask, { isTerminal: stdout.isTTY, isJob });
    this.#stderr = new Outlet(options.mask, { isTerminal: stderr.isTTY, isJob });
    const isCI = env['CI'] !== undefined && env['CI'] !== '' && env['CI'] !== 'false';
    this.hasStatusLine =
      stderr.isTTY && !options.quiet && !isCI && env['TERM'] !== 'dumb' && (stderr.columns ?? 0) > 20;
    this.#droppedText = options.droppedText;
    this.#lostText = options.lostText;
    process.stderr.on('error', () => {});
    process.stdout.on('error', (error) => this.#explain(error));
  }

  /** The agent's words, on stdout. */
  words(text: string): void {
    if (text !== '') this.#words(this.#stdout.read(text));
    this.#awaitRest(this.#stdout);
  }

  /** The agent's stderr, on ours. */
  errors(chunk: Buffer): void {
    this.#errors(this.#stderr.read(chunk));
    this.#awaitRest(this.#stderr);
  }

  /** A separate line on stderr. */
  line(text: string): void {
    this.#release();
    this.#eraseStatus();
    this.#resetColour();
    if (!this.#atLineStart) this.#write(process.stderr, '\n');
    this.#atLineStart = true;
    const shown = harmless(this.#mask.text(text), process.stderr.isTTY);
    const reset = process.stderr.isTTY && shown.includes('\u001B') ? '\u001B[0m' : '';
    this.#write(process.stderr, `${shown}${reset}\n`);
  }

  /** Draws the status line that `textFor` returns for a width, unless it would break an unfinished line. */
  status(textFor: (width: number) => string): void {
    if (!this.hasStatusLine || !this.#atLineStart) return;
    const line = textFor((process.stderr.columns ?? 80) - 4);
    this.#resetColour();
    this.#write(process.stderr, `\r\u001B[K${paint('dim', line)}`);
    this.#isStatusDrawn = true;
  }

  /**
   * Resolves once stdout takes more, so that output waits in the agent's log file instead of in memory. A reader that
   * has not read for a while is not waited for.
   */
  ready(): Promise<void> | undefined {
    const { stdout } = process;
    if (this.#isStalled || !stdout.writableNeedDrain || stdout.destroyed) return undefined;
    return new Promise((whenDone) => {
      const go = (): void => {
        clearTimeout(timer);
        stdout.off('drain', go).off('close', go);
        whenDone();
      };
      const timer = setTimeout(() => {
        this.#isStalled = true;
        stdout.once('drain', () => {
          this.#isStalled = false;
        });
        go();
      }, STALLED_READER_MS);
      stdout.on('drain', go).on('close', go);
    });
  }

  /** Erases the status line and ends unfinished lines. */
  close(): void {
    if (this.#pause !== null) clearTimeout(this.#pause);
    this.#release();
    this.#eraseStatus();
    this.#resetColour();
    if (!this.#atLineStart) this.#write(process.stderr, '\n');
    this.#atLineStart = true;
    if (!this.#stdoutAtLineStart) this.#write(process.stdout, '\n');
    this.#stdoutAtLineStart = true;
  }

  #words(shown: string | Buffer): void {
    if (shown.length === 0) return;
    this.#eraseStatus();
    this.#write(process.stdout, shown);
    this.#hasColour ||= process.stdout.isTTY && shown.includes('\u001B');
    if (this.isShared) this.#atLineStart = endsLine(shown);
    else this.#stdoutAtLineStart = endsLine(shown);
  }

  #errors(shown: string | Buffer): void {
    if (shown.length === 0) return;
    this.#eraseStatus();
    this.#write(process.stderr, shown);
    this.#hasColour ||= process.stderr.isTTY && shown.includes('\u001B');
    this.#atLineStart = endsLine(shown);
  }

  /** A word may be the beginning of a key; it is shown if its line does not go on soon. */
  #awaitRest(outlet: Outlet): void {
    if (!outlet.isHolding) return;
    this.#pause ??= setTimeout(() => {
      this.#words(this.#stdout.release());
      this.#errors(this.#stderr.release());
    }, PAUSE_MS).unref();
    this.#pause.refresh();
  }

  /** Shows what is held back: something else follows now. */
  #release(): void {
    this.#words(this.#stdout.end());
    this.#errors(this.#stderr.end());
  }

  /** The loop continues without a stdout; a person should know why the output is missing. */
  #explain(error: unknown): void {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (this.#hasExplained || READER_IS_GONE.has(code)) return;
    this.#hasExplained = true;
    this.line(`ralph: warning: ${cannotPrint(error).message}; ${this.#lostText}`);
  }

  #write(stream: NodeJS.WriteStream, content: string | Buffer): void {
    if (stream.destroyed) return;
    if (stream.writableLength < MAX_BUFFERED_BYTES) {
      if (this.#droppedFrom.delete(stream)) stream.write(`\n${this.#droppedText}\n`);
      stream.write(content);
    } else this.#droppedFrom.add(stream);
  }

  /** The agent's colours end with its output. */
  #resetColour(): void {
    if (!this.#hasColour) return;
    this.#hasColour = false;
    for (const stream of [process.stdout, process.stderr]) if (stream.isTTY) this.#write(stream, '\u001B[0m');
  }

  #eraseStatus(): void {
    if (!this.#isStatusDrawn) return;
    this.#write(process.stderr, '\r\u001B[K');
    this.#isStatusDrawn = false;
  }
}

interface ScreenOptions {
  readonly quiet: boolean;
  readonly mask: Mask;
  /** Printed in place of output that a reader was too slow for. */
  readonly droppedText: string;
  /** Printed if stdout takes nothing. */
  readonly lostText: string;
}

function endsLine(shown: string | Buffer): boolean {
  return shown.at(-1) === '\n' || shown.at(-1) === 10;
}

function isSharedOutput(): boolean {
  try {
    const [out, errors] = [fstatSync(1), fstatSync(2)];
    return out.dev === errors.dev && out.ino === errors.ino;
  } catch {
    return false;
  }
}
