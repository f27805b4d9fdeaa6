import { StringDecoder } from 'node:string_decoder';
import type { Mask, MaskedStream } from '../store/mask.ts';
import { reveal, TerminalSanitizer } from './terminal.ts';
import { CommandGuard, obeysCommands } from './workflow-commands.ts';

/**
 * The way of an agent's output to one of our streams, piece by piece: without secrets; on a terminal without control
 * sequences and with invisible characters shown; in the log of a CI job without commands for its runner. Elsewhere, bytes
 * that are not secret pass unchanged.
 */
export class Outlet {
  readonly #masked: MaskedStream;
  readonly #terminal: TerminalSanitizer | null;
  readonly #guard: CommandGuard | null;
  readonly #decoder = new StringDecoder('utf8');

  constructor(mask: Mask, isTerminal: boolean) {
    this.#masked = mask.stream();
    this.#terminal = isTerminal ? new TerminalSanitizer() : null;
    this.#guard = !isTerminal && obeysCommands() ? new CommandGuard() : null;
  }

  /** Use either texts or bytes for one outlet. */
  read(piece: string | Buffer): string | Buffer {
    return this.#shown(this.#masked.read(piece));
  }

  /** Shows the last word of an unfinished line after a pause, unless a known secret may begin there. */
  release(): string | Buffer {
    return this.#shown(this.#masked.release());
  }

  get isHolding(): boolean {
    return this.#masked.isHolding;
  }

  /** What was held back because it might have been the beginning of a secret or a command. */
  end(): string | Buffer {
    const rest = this.#shown(this.#masked.end());
    return this.#guard === null ? rest : `${rest.toString()}${this.#guard.end()}`;
  }

  #shown(piece: string | Buffer): string | Buffer {
    if (this.#terminal !== null) return this.#terminal.read(piece);
    if (this.#guard === null) return piece;
    const text = typeof piece === 'string' ? piece : this.#decoder.write(piece);
    return this.#guard.read(reveal(text));
  }
}
