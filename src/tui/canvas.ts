/**
 * A terminal while `ralph watch` has it.
 *
 * 1. Frames are drawn on the alternate screen, at most ten times a second, and only lines that have changed are written.
 * 2. However the process ends, except by SIGKILL, the terminal is then as it was before: its screen, its cursor and its modes. The same
 *    holds while the process is suspended.
 * 3. The mouse stays with the terminal, so that a person can select text.
 */
import { writeSync } from 'node:fs';
import type { Drawing, startDrawing as start } from './ink.ts';
import { KeyReader, type Key } from './keys.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream & { readonly fd: number };
}

export interface CanvasOptions {
  /** The lines of the screen for this size. */
  readonly frame: (size: Size) => readonly string[];
  readonly onKey: (key: Key) => void;
  /** Called with an exit code when a signal or the end of the terminal asks for the end. */
  readonly onEnd: (code: number) => void;
  /** A screen reader loses its place on an alternate screen. */
  readonly isForScreenReader: boolean;
}

type StartDrawing = typeof start;

export async function openCanvas(terminal: Terminal, options: CanvasOptions): Promise<Canvas> {
  const { startDrawing } = await import('./ink.ts');
  return new Canvas(terminal, options, startDrawing);
}

export class Canvas {
  readonly #terminal: Terminal;
  readonly #options: CanvasOptions;
  readonly #startDrawing: StartDrawing;
  readonly #keys = new KeyReader();
  #drawing: Drawing | null = null;
  #frameTimer: NodeJS.Timeout | null = null;
  #keyTimer: NodeJS.Timeout | null = null;
  #drawnAt = 0;
  #isEntered = false;

  constructor(terminal: Terminal, options: CanvasOptions, startDrawing: StartDrawing) {
    this.#terminal = terminal;
    this.#options = options;
    this.#startDrawing = startDrawing;
    const { stdin, stdout } = terminal;
    for (const [signal, listener] of this.#signals) process.on(signal, listener);
    process.on('exit', this.#restore).on('uncaughtExceptionMonitor', this.#restore);
    stdout.on('resize', this.#resized).on('error', this.#gone);
    stdin.setEncoding('utf8');
    stdin.on('data', this.#typed).on('end', this.#gone).on('error', this.#gone);
    this.#enter();
  }

  /** What is shown has changed: draws a frame soon. */
  changed(): void {
    if (this.#drawing === null) return;
    const wait = Math.max(0, this.#drawnAt + FRAME_MS - Date.now());
    this.#frameTimer ??= setTimeout(() => this.#draw(), wait);
  }

  close(): void {
    this.#restore();
    const { stdin, stdout } = this.#terminal;
    for (const [signal, listener] of this.#signals) process.off(signal, listener);
    process.off('exit', this.#restore).off('uncaughtExceptionMonitor', this.#restore);
    stdout.off('resize', this.#resized);
    // A closed terminal may still emit errors.
    stdin.off('data', this.#typed).off('end', this.#gone).pause();
  }

  /** Gives the terminal back and stops the process, until the shell continues it. */
  suspend(): void {
    this.#restore();
    process.off('SIGTSTP', this.#suspended);
    const again = (): void => {
      clearTimeout(timer);
      process.off('SIGCONT', again).on('SIGTSTP', this.#suspended);
      this.#enter();
    };
    process.on('SIGCONT', again);
    // Without a shell that could continue it, the process goes on.
    const timer = setTimeout(again, NOT_STOPPED_MS);
    // With the programs that started it, such as npx.
    process.kill(0, 'SIGTSTP');
  }

  readonly #suspended = (): void => this.suspend();

  readonly #signals: readonly (readonly [NodeJS.Signals, () => void])[] = [
    ['SIGTSTP', this.#suspended],
    ['SIGINT', () => this.#options.onEnd(130)],
    ['SIGTERM', () => this.#options.onEnd(143)],
    ['SIGHUP', () => this.#options.onEnd(129)],
  ];

  #enter(): void {
    if (this.#isEntered) return;
    this.#isEntered = true;
    const { stdin } = this.#terminal;
    stdin.setRawMode(true);
    stdin.resume();
    this.#write(this.#options.isForScreenReader ? BRACKETED : ENTER);
    this.#begin();
  }

  #begin(): void {
    const { columns, rows } = this.#size;
    // Ink clears the terminal before each frame that fills it, with its scrollback.
    this.#drawing = this.#startDrawing(
      { columns, rows: rows + 1, write: (text) => this.#write(text) },
      { framesPerSecond: 1000 / FRAME_MS, isForScreenReader: this.#options.isForScreenReader },
    );
    this.#draw();
  }

  #draw(): void {
    if (this.#frameTimer !== null) clearTimeout(this.#frameTimer);
    this.#frameTimer = null;
    this.#drawnAt = Date.now();
    this.#drawing?.draw(this.#options.frame(this.#size));
  }

  get #size(): Size {
    const { columns, rows } = this.#terminal.stdout;
    // A terminal that does not know its size says 0. The last row stays empty: a line that ends there would scroll the screen.
    return { columns: columns > 0 ? columns : 80, rows: (rows > 0 ? rows : 24) - 1 };
  }

  readonly #resized = (): void => {
    if (this.#drawing === null) return;
    this.#endDrawing();
    if (!this.#options.isForScreenReader) this.#write(CLEAR);
    this.#begin();
  };

  #endDrawing(): void {
    if (this.#frameTimer !== null) clearTimeout(this.#frameTimer);
    this.#frameTimer = null;
    this.#drawing?.end();
    this.#drawing = null;
  }

  /** Also called while the process ends, when nothing that is asynchronous happens any more. */
  readonly #restore = (): void => {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    this.#endDrawing();
    this.#write(this.#options.isForScreenReader ? LEAVE_READER : LEAVE);
    try {
      this.#terminal.stdin.setRawMode(false);
    } catch {
      // The terminal is gone.
    }
  };

  readonly #typed = (text: string): void => {
    if (this.#keyTimer !== null) clearTimeout(this.#keyTimer);
    this.#press(this.#keys.read(text));
    if (this.#keys.isHolding) this.#keyTimer = setTimeout(() => this.#press(this.#keys.release()), ESCAPE_MS);
  };

  #press(keys: readonly Key[]): void {
    for (const key of keys) {
      if (key.is === 'key' && key.name === 'ctrl-c') return this.#options.onEnd(130);
      if (key.is === 'key' && key.name === 'ctrl-z') this.suspend();
      else this.#options.onKey(key);
    }
  }

  /** The terminal was closed. */
  readonly #gone = (): void => this.#options.onEnd(129);

  /** Synchronously, so that nothing is left to write when the process ends or stops. */
  #write(text: string): void {
    let rest = Buffer.from(text);
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#terminal.stdout.fd, rest));
    } catch (error) {
      // A terminal that another program has made non-blocking takes the rest from the stream.
      if (error instanceof Error && 'code' in error && error.code === 'EAGAIN')
        this.#terminal.stdout.write(rest);
      else this.#isEntered = false;
    }
  }
}

const FRAME_MS = 100;
const ESCAPE_MS = 30;
const NOT_STOPPED_MS = 500;

const BRACKETED = '\u001B[?2004h';
const CLEAR = '\u001B[2J\u001B[H';
/** A line never continues on the next one, whatever the terminal thinks of the width of a character. */
const NO_WRAP = '\u001B[?7l';
const ENTER = `\u001B[?1049h\u001B[?25l${NO_WRAP}${BRACKETED}${CLEAR}`;
const LEAVE_READER = '\u001B[?2004l\u001B[?25h\n';
const LEAVE = '\u001B[0m\u001B[?7h\u001B[?2004l\u001B[?25h\u001B[?1049l';
