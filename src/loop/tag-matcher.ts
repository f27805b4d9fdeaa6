import { escapeForPattern, MAX_MATCH_LENGTH, sameIgnoringCase, settled, type Matcher } from './matcher.ts';

/** Only the first tag that opens and closes on one line counts; case and whitespace around the value are ignored. */
export function firstTag(name: string, value: string): Matcher {
  const open = `<${name}>`;
  const close = `</${name}>`;

  const outside = (tail: string): Matcher => ({
    read(text) {
      const seen = tail + text;
      const at = indexIgnoringCase(seen, open);
      return at < 0
        ? outside(lastPart(seen, open.length - 1))
        : inside('', false).read(seen.slice(at + open.length));
    },
    found: () => null,
    held: tail.length,
  });

  // `overlong`: the content is too long to be the value, so only the closing tag still matters.
  const inside = (content: string, overlong: boolean): Matcher => ({
    read(text) {
      const seen = content + text;
      const end = indexIgnoringCase(seen, close);
      const newline = seen.indexOf('\n');
      if (newline >= 0 && (end < 0 || newline < end)) return outside('').read(seen.slice(newline + 1));
      if (end >= 0) {
        const matches = !overlong && sameIgnoringCase(seen.slice(0, end).trim(), value);
        return settled(matches ? `${open}${value}${close}` : null);
      }
      return seen.length > MAX_MATCH_LENGTH
        ? inside(lastPart(seen, close.length - 1), true)
        : inside(seen, overlong);
    },
    found: () => null,
    held: content.length,
  });

  return outside('');
}

/** The text consists of the value alone; case and surrounding whitespace are ignored. */
export function alone(value: string): Matcher {
  const waiting = (seen: string): Matcher => ({
    read(text) {
      const all = (seen + text).trimStart();
      const said = all.trimEnd();
      if (said.length > value.length) return settled(null);
      return waiting(said.length < all.length ? `${said} ` : said);
    },
    found: (ended) => (ended && sameIgnoringCase(seen.trimEnd(), value) ? value : null),
    held: seen.length,
  });
  return waiting('');
}

/** Any tag with the value counts; whitespace around the value is ignored. */
export function anyTag(name: string, value: string): Matcher {
  const whole = tagPattern(name, value);
  const waiting = (tail: string): Matcher => ({
    read(text) {
      const seen = tail + text;
      const match = whole.exec(seen);
      return match === null ? waiting(unfinishedTag(seen, name, value)) : settled(match[0]);
    },
    found: () => null,
    held: tail.length,
  });
  return waiting('');
}

/** The tag with its value and optional whitespace around the value. */
export function tagPattern(name: string, value: string): RegExp {
  return new RegExp(String.raw`<${name}>\s*${escapeForPattern(value)}\s*</${name}>`, 'is');
}

/** Whether a text may be the beginning of the tag with its value. */
export function mayBecomeTag(text: string, name: string, value: string): boolean {
  if (text.length > MAX_MATCH_LENGTH) return false;
  let rest = text;
  for (const part of [`<${name}>`, value, `</${name}>`]) {
    if (rest.length < part.length) return sameIgnoringCase(rest, part.slice(0, rest.length));
    if (!sameIgnoringCase(rest.slice(0, part.length), part)) return false;
    rest = rest.slice(part.length).trimStart();
  }
  return false;
}

/** The end of a text from where an incomplete tag may begin. */
function unfinishedTag(text: string, name: string, value: string): string {
  let at = text.indexOf('<', Math.max(0, text.length - MAX_MATCH_LENGTH));
  while (at >= 0) {
    const begun = text.slice(at);
    if (mayBecomeTag(begun, name, value)) return squeezed(begun, name, value);
    at = text.indexOf('<', at + 1);
  }
  return '';
}

/** Reduces whitespace after the opening tag or the value to one space, so that it does not accumulate. */
function squeezed(begun: string, name: string, value: string): string {
  const trimmed = begun.trimEnd();
  const open = `<${name}>`;
  const atGap =
    sameIgnoringCase(trimmed, open) || sameIgnoringCase(trimmed.slice(open.length).trimStart(), value);
  return atGap && begun.length > trimmed.length ? `${trimmed} ` : begun;
}

function indexIgnoringCase(text: string, literal: string): number {
  return text.search(new RegExp(escapeForPattern(literal), 'i'));
}

function lastPart(text: string, length: number): string {
  return text.slice(Math.max(0, text.length - length));
}
