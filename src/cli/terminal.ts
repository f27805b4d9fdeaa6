import { StringDecoder } from 'node:string_decoder';

/**
 * Makes what others print fit to be shown on a terminal: colours may stay, everything else that commands it may not.
 * Pieces of characters and of commands are kept back until the rest has come.
 */
export class Harmless {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  read(chunk: Buffer | string): string {
    const text = this.#rest + (typeof chunk === 'string' ? chunk : this.#decoder.write(chunk));
    const unfinished = UNFINISHED.exec(text)?.[0] ?? '';
    this.#rest = unfinished.length > LONGEST ? '' : unfinished;
    return harmless(text.slice(0, text.length - unfinished.length));
  }
}

/** A text without what commands a terminal, except for colours. */
export function harmless(text: string): string {
  return text.replaceAll(COMMAND, (match) => (COLOUR.test(match) && !CONCEALED.test(match) ? match : ''));
}

const LONGEST = 4096;
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const UNFINISHED = /\u001B(?:\[[0-?]*[ -/]*|\][^\u0007\u001B]*\u001B?)?$/;
// oxlint-disable-next-line no-control-regex -- as above
const COLOUR = /^\u001B\[[0-9;]*m$/;
/** What nobody can see may not be shown either. */
const CONCEALED = /[[;]8[;m]/;
const COMMAND =
  // oxlint-disable-next-line no-control-regex -- as above
  /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|.)?|[\u0000-\u0008\u000B-\u001A\u001C-\u001F\u007F-\u009F]/gs;

/** Whatever somebody else calls their things, one line stays one line. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ');
}
