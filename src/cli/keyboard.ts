import { Readable } from 'node:stream';
import type { ReadStream } from 'node:tty';

/**
 * What is typed on a terminal, one answer at a time. A prompt gets the keys up to its Enter and the next prompt gets the
 * rest, however much was pasted or typed ahead. The end of the input, by Ctrl-D or a closed terminal, is passed on as
 * Ctrl-C.
 */
export class Keyboard extends Readable {
  readonly isTTY = true;
  readonly #terminal: ReadStream;
  #typed = '';
  #isAsking = false;
  #isSuggestion = false;
  #hasEnded = false;

  constructor(terminal: ReadStream) {
    super({ read() {} });
    this.#terminal = terminal;
    terminal.setEncoding('utf8');
    terminal.on('data', this.#type).on('end', this.#end).on('error', this.#end).resume();
  }

  /** Passes on the next answer. With a suggestion in the line, the first key that is typed replaces it. */
  ask(isSuggestion: boolean): void {
    this.#isAsking = true;
    this.#isSuggestion = isSuggestion;
    this.#pass();
  }

  /** Acts like Ctrl-C. */
  interrupt(): void {
    this.#typed = '';
    this.#end();
  }

  /** Keeps raw mode between two questions, so that keys are neither echoed nor turned into signals. */
  setRawMode(isRaw: boolean): this {
    if (isRaw) this.#terminal.setRawMode(true);
    return this;
  }

  close(): void {
    this.#terminal.setRawMode(false);
    this.#terminal.off('data', this.#type).off('end', this.#end).off('error', this.#end);
    // A closed terminal may still emit errors.
    this.#terminal.on('error', () => {}).pause();
    this.destroy();
  }

  readonly #type = (text: string): void => {
    this.#typed += text;
    this.#pass();
  };

  readonly #end = (): void => {
    this.#hasEnded = true;
    this.#pass();
  };

  #pass(): void {
    if (this.#isAsking && this.#typed !== '') {
      const [keys] = ONE_ANSWER.exec(this.#typed) ?? [this.#typed];
      this.#typed = this.#typed.slice(keys.length);
      if (this.#isSuggestion && !isControl(keys)) this.push(CLEAR_LINE);
      this.#isSuggestion = false;
      this.#isAsking = !/[\r\n]$/.test(keys);
      // The prompts do not report a Ctrl-D, and do not come back from a Ctrl-Z.
      this.push(
        keys
          .replace(/\r?\n$/, '\r')
          .replaceAll(END_OF_INPUT, INTERRUPT)
          .replaceAll(SUSPEND, ''),
      );
    }
    if (this.#isAsking && this.#hasEnded) {
      this.#isAsking = false;
      this.push(INTERRUPT);
    }
  }
}

const ONE_ANSWER = /^[^\r\n]*(?:\r\n|\r|\n)/;
const CLEAR_LINE = '\u0015';
const INTERRUPT = '\u0003';
const END_OF_INPUT = '\u0004';
const SUSPEND = '\u001A';

/** Enter, an arrow, Backspace: keys that edit the line instead of replacing the suggestion. */
function isControl(keys: string): boolean {
  return keys < ' ' || keys.startsWith('\u007F');
}
