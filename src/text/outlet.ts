import type { Mask, MaskedStream } from '../home/mask.ts';
import { TerminalSanitizer } from './terminal-stream.ts';
import { CommandGuard } from './workflow-commands.ts';

/**
 * The way of an agent's output to one of our streams, piece by piece: without secrets, without control sequences, and with
 * invisible characters shown; in the log of a CI job also without commands for its runner. Raw output, which only a pipe or a
 * file gets, has all bytes that are not secret.
 */
export class Outlet {
  readonly #masked: MaskedStream | null;
  readonly #sanitizer: TerminalSanitizer | null;
  readonly #guard: CommandGuard | null;

  /** `mask` is null for what has no secrets. */
  constructor(mask: Mask | null, { isTerminal, isJob, isRaw = false }: OutletOptions) {
    this.#masked = mask?.stream() ?? null;
    this.#guard = !isTerminal && isJob ? new CommandGuard() : null;
    const passes = isRaw && !isTerminal && this.#guard === null;
    this.#sanitizer = passes ? null : new TerminalSanitizer(isTerminal);
  }

  /** Use either texts or bytes for one outlet. */
  read(piece: string | Buffer): string | Buffer {
    return this.#shown(this.#masked?.read(piece) ?? piece);
  }

  /** Shows the last word of an unfinished line after a pause, unless a known secret may begin there. */
  release(): string | Buffer {
    return this.#shown(this.#masked?.release() ?? '');
  }

  get isHolding(): boolean {
    return this.#masked?.isHolding === true;
  }

  /** What was held back because it might have been the beginning of a secret or a command. */
  end(): string | Buffer {
    const rest = this.#shown(this.#masked?.end() ?? '');
    return this.#guard === null ? rest : `${rest.toString()}${this.#guard.end()}`;
  }

  #shown(piece: string | Buffer): string | Buffer {
    if (this.#sanitizer === null) return piece;
    const text = this.#sanitizer.read(piece);
    return this.#guard === null ? text : this.#guard.read(text);
  }
}

interface OutletOptions {
  readonly isTerminal: boolean;
  /** Whether it goes into the log of a job that obeys commands. */
  readonly isJob: boolean;
  readonly isRaw?: boolean;
}
