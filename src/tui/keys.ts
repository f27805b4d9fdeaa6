/** What a person presses, read from the bytes that a terminal sends for it. */

/** A character, or the name of another key: `enter`, `up`, `ctrl-c`. */
export type Key =
  | { readonly is: 'key'; readonly name: string }
  | { readonly is: 'paste'; readonly text: string };

/** Reads keys piece by piece: a terminal far away may send the sequence of one key in two pieces. */
export class KeyReader {
  #rest = '';

  read(text: string): readonly Key[] {
    const all = this.#rest + text;
    const held = UNFINISHED.exec(all)?.[0] ?? '';
    this.#rest = held;
    return keysIn(all.slice(0, all.length - held.length));
  }

  get isHolding(): boolean {
    return this.#rest !== '';
  }

  /** The keys that were held back, once nothing has followed for a moment: a lone Esc. */
  release(): readonly Key[] {
    const held = this.#rest;
    this.#rest = '';
    return keysIn(held);
  }
}

function keysIn(text: string): readonly Key[] {
  return [...text.matchAll(KEY)].flatMap(([sequence, pasted]): readonly Key[] => {
    if (pasted !== undefined) return [{ is: 'paste', text: pasted }];
    const name = NAMES[sequence] ?? nameOf(sequence);
    return name === null ? [] : [{ is: 'key', name }];
  });
}

/** Null for what no key of ours sends. */
function nameOf(sequence: string): string | null {
  if (sequence.startsWith('\u001B')) return null;
  const code = sequence.codePointAt(0) ?? 0;
  if (code >= 0x20) return sequence;
  return code === 0 ? null : `ctrl-${String.fromCodePoint(code + 0x60)}`;
}

// oxlint-disable-next-line no-control-regex -- what keys send
const KEY = /\u001B\[200~([^]*?)(?:\u001B\[201~|$)|\u001B\[[\d;<=>?]*[ -/]*[@-~]|\u001BO[A-Z]|\u001B|[^]/gu;
/** The beginning of a sequence at the end, or a paste that goes on. */
// oxlint-disable-next-line no-control-regex -- as above
const UNFINISHED = /\u001B\[200~(?:(?!\u001B\[201~)[^])*$|\u001B(?:\[[\d;<=>?]*|O)?$/u;

const NAMES: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u0008': 'backspace',
  '\u007F': 'backspace',
  '\u001B': 'escape',
  '\u001B[A': 'up',
  '\u001BOA': 'up',
  '\u001B[B': 'down',
  '\u001BOB': 'down',
  '\u001B[C': 'right',
  '\u001BOC': 'right',
  '\u001B[D': 'left',
  '\u001BOD': 'left',
  '\u001B[H': 'home',
  '\u001BOH': 'home',
  '\u001B[1~': 'home',
  '\u001B[F': 'end',
  '\u001BOF': 'end',
  '\u001B[4~': 'end',
  '\u001B[3~': 'backspace',
  '\u001B[5~': 'page-up',
  '\u001B[6~': 'page-down',
  '\u001B[Z': 'shift-tab',
};
