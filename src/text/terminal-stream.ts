import { StringDecoder } from 'node:string_decoder';
import { CONTEXT_LENGTH, reveal, withoutControls } from './terminal.ts';

/** `sanitize` for a stream: holds back characters and escape sequences that are cut until their rest arrives. */
export class TerminalSanitizer {
  readonly #isTerminal: boolean;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #before = '';

  constructor(isTerminal: boolean) {
    this.#isTerminal = isTerminal;
  }

  read(chunk: Buffer | string): string {
    const text = this.#rest + (typeof chunk === 'string' ? chunk : this.#decoder.write(chunk));
    const unfinished = UNFINISHED.exec(text)?.[0] ?? '';
    this.#rest = unfinished.length > MAX_UNFINISHED_LENGTH ? '' : unfinished;
    const shown = withoutControls(text.slice(0, text.length - unfinished.length), this.#isTerminal);
    const before = this.#before;
    this.#before = (before + shown).slice(-CONTEXT_LENGTH);
    return reveal(shown, before);
  }
}

const MAX_UNFINISHED_LENGTH = 4096;
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const UNFINISHED = /\u001B(?:\[[0-?]*[ -/]*|\][^\u0007\u001B]*\u001B?)?$/;
