import { Readable } from 'node:stream';
import type { ReadStream } from 'node:tty';

/**
 * What is typed on a terminal, one answer at a time. A prompt gets the keys up to its Enter and the next one gets what
 * comes after, however much was pasted or typed ahead at once. The end of the input, by Ctrl-D or because the terminal is
 * gone, is a Ctrl-C to whoever reads.
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

  /** Lets the next answer through. Where a suggestion stands in its line, what is typed first takes its place. */
  ask(isSuggestion: boolean): void {
    this.#isAsking = true;
    this.#isSuggestion = isSuggestion;
    this.#pass();
  }

  /** As if Ctrl-C had been the last key. */
  interrupt(): void {
    this.#typed = '';
    this.#end();
  }

  /** Between two questions it stays as it is in one: keys are neither echoed there nor turned into signals. */
  setRawMode(isRaw: boolean): this {
    if (isRaw) this.#terminal.setRawMode(true);
    return this;
  }

  close(): void {
    this.#terminal.setRawMode(false);
    this.#terminal.off('data', this.#type).off('end', this.#end).off('error', this.#end);
    // Whatever errors come of a terminal that is gone, nobody waits for it any more.
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
      // Ctrl-D would only close the line, and nobody would ever hear of it; from a Ctrl-Z the prompts do not come back.
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

/** An Enter, an arrow, a Backspace: something that is done with the line rather than written into it. */
function isControl(keys: string): boolean {
  return keys < ' ' || keys.startsWith('\u007F');
}
