import { StringDecoder } from 'node:string_decoder';

/** `sanitize` for a stream: holds back characters and escape sequences that are cut until their rest arrives. */
export class TerminalSanitizer {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  read(chunk: Buffer | string): string {
    const text = this.#rest + (typeof chunk === 'string' ? chunk : this.#decoder.write(chunk));
    const unfinished = UNFINISHED.exec(text)?.[0] ?? '';
    this.#rest = unfinished.length > MAX_UNFINISHED_LENGTH ? '' : unfinished;
    return sanitize(text.slice(0, text.length - unfinished.length));
  }
}

/** Removes control characters and escape sequences, except colours, so that agents cannot control the terminal. */
export function sanitize(text: string): string {
  return text.replaceAll(CONTROL, (match) => (COLOUR.test(match) && !CONCEALED.test(match) ? match : ''));
}

const MAX_UNFINISHED_LENGTH = 4096;
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const UNFINISHED = /\u001B(?:\[[0-?]*[ -/]*|\][^\u0007\u001B]*\u001B?)?$/;
// oxlint-disable-next-line no-control-regex -- as above
const COLOUR = /^\u001B\[[0-9;]*m$/;
/** The colour code for hidden text. */
const CONCEALED = /[[;]8[;m]/;
const CONTROL =
  // oxlint-disable-next-line no-control-regex -- as above
  /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|.)?|[\u0000-\u0008\u000B-\u001A\u001C-\u001F\u007F-\u009F]/gs;

/** Keeps text on one line. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ');
}
