/**
 * Every text that leaves the server passes here, because much of it comes from agents, repositories and logs.
 *
 * 1. Secrets are masked before anything is cut: a part of a secret cannot be recognised.
 * 2. Control characters and invisible characters are shown as escapes; line breaks and tabs stay.
 * 3. A long text loses its middle, and says so: its beginning says what it is, its end is the newest.
 */
import { stripVTControlCharacters } from 'node:util';
import type { Mask } from '../loops/loops.ts';
import { visible } from '../text/one-line.ts';

export function shownText(text: string, mask: Mask): string {
  const safe = mask.text(stripVTControlCharacters(text)).replaceAll('\r\n', '\n');
  return shortened(safe.replaceAll(/[^\n\t]+/g, visible).trimEnd());
}

/** The same for the texts in a JSON value. */
export function shownData(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') return shownText(value, mask);
  if (Array.isArray(value)) return value.map((item: unknown) => shownData(item, mask));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shownData(part, mask)]));
}

/** Clients cut longer answers themselves, at a place that is theirs to choose, or refuse them. */
export const MAX_CHARS = 40_000;
const KEPT_START = 4_000;

function shortened(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  const kept = MAX_CHARS - KEPT_START;
  const start = text.slice(0, KEPT_START).replace(/[\uD800-\uDBFF]$/, '');
  const end = text.slice(-kept).replace(/^[\uDC00-\uDFFF]/, '');
  const left = text.length - start.length - end.length;
  return `${start}\n[… ${left} characters left out …]\n${end}`;
}
