import { useState } from 'preact/hooks';
import type { Chunk, Range } from '../src/loops/output.ts';
import { sizeText } from '../src/loop/counted.ts';
import { reasonOf } from './api.ts';
import { shown } from './shown.ts';
import { useAnswer } from './use.ts';

type Read = (range: Range, signal: AbortSignal) => Promise<Chunk>;

/** A long text, piece by piece: it may have more than a browser can hold. */
export function Log({ label, read }: { readonly label: string; readonly read: Read }) {
  const [from, setFrom] = useState(0);
  const [wanted, setWanted] = useState('');
  const [search, setSearch] = useState<string | null>(null);
  const answer = useAnswer((signal) => read({ from, bytes: PIECE }, signal), [from]);
  if (answer.is === 'failed') return <p class="red">{shown(answer.why)}</p>;
  if (answer.is === 'asked') return <p class="note">Loading …</p>;
  const { data, size, next, from: start } = answer.value;
  const last = Math.max(0, size - PIECE);
  return (
    <div class="log">
      {(size > PIECE || start > 0) && (
        <form
          class="tools"
          onSubmit={(event) => {
            event.preventDefault();
            void find();
          }}
        >
          <button type="button" disabled={start === 0} onClick={() => setFrom(0)}>
            Start
          </button>
          <button type="button" disabled={start === 0} onClick={() => setFrom(Math.max(0, start - PIECE))}>
            Earlier
          </button>
          <button type="button" disabled={next >= size} onClick={() => setFrom(next)}>
            Later
          </button>
          <button type="button" disabled={next >= size} onClick={() => setFrom(last)}>
            End
          </button>
          <label>
            Find{' '}
            <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
          </label>
          <button type="submit">Find next</button>
          <span class="note" role="status">
            {search ?? `${sizeText(start)} to ${sizeText(next)} of ${sizeText(size)}`}
          </span>
        </form>
      )}
      <pre tabIndex={0} role="region" aria-label={label}>
        {shown(textOf(data)) || '(empty)'}
      </pre>
    </div>
  );

  /** Reads on until a piece has the words, and shows it from there. */
  async function find(): Promise<void> {
    if (wanted === '') return;
    const words = new TextEncoder().encode(wanted);
    const never = new AbortController().signal;
    setSearch('searching …');
    try {
      // After the first line, so that the next search goes on behind the words that stand there.
      for (let at = start + 1; at < size;) {
        // oxlint-disable-next-line no-await-in-loop -- one piece after the other
        const chunk = await read({ from: at, bytes: SEARCHED }, never);
        const found = placeOf(words, bytesOf(chunk.data));
        if (found >= 0) {
          setSearch(null);
          return setFrom(chunk.from + found);
        }
        if (chunk.after !== 'more' || chunk.next <= at) break;
        at = Math.max(at + 1, chunk.next - words.length);
      }
      setSearch('not found after this place');
    } catch (error) {
      setSearch(reasonOf(error));
    }
  }
}

const PIECE = 64 * 1024;
const SEARCHED = 256 * 1024;

export function textOf(data: string): string {
  return new TextDecoder().decode(bytesOf(data));
}

function bytesOf(data: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
}

function placeOf(words: Uint8Array, bytes: Uint8Array): number {
  const [first] = words;
  if (first === undefined) return -1;
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1))
    if (words.every((byte, index) => bytes[at + index] === byte)) return at;
  return -1;
}
