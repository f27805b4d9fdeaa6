import type { Misplacement } from './completion.ts';
import type { Matcher } from './matcher.ts';
import { anyTag, mayBecomeTag, tagPattern } from './tag-matcher.ts';

/**
 * A tag that makes a claim and does not just mention it: alone on its line (or spread over its own lines), outside of
 * code, comments and quotation. "I will not say <promise>DONE</promise> yet" is no claim, nor is the tag in a code block
 * or behind a `>`. An unclear case is no claim: a missed claim costs an iteration, a false one ends the loop too early.
 * Agents like to emphasise their last line, so `**<promise>DONE</promise>**` and one `.` or `!` are fine.
 */
export function ownLineTag(name: string, value: string): Matcher {
  const mention = tagPattern(name, value);
  const tag: Tag = {
    whole: new RegExp(`^${mention.source}$`, mention.flags),
    mention,
    mayBecome: (text) => mayBecomeTag(text, name, value),
  };
  // `mentioned` also finds a tag that spans lines, or the end of a line that is too long to keep.
  const reading = (state: Lines, mentioned: Matcher): Matcher => ({
    read(text) {
      const known = skip(state, text);
      if (known !== null) return reading(known, mentioned.held === 0 ? mentioned : mentioned.read(text));
      const lines = text.split('\n');
      const last = lines.pop() ?? '';
      let current = state;
      for (const line of lines) current = endOfLine(extend(current, line), tag);
      return reading(extend(current, last), mentioned.read(text));
    },
    found: (ended) => (ended ? atEnd(state, tag) : state).match,
    missed() {
      const { match, misplaced } = atEnd(state, tag);
      if (match !== null) return null;
      return misplaced ?? (mentioned.found(true) === null ? null : 'text');
    },
    held: state.line.length + state.begun.length + mentioned.held,
  });
  return reading(
    { line: '', overlong: false, inside: null, begun: '', quoted: 'no', match: null, misplaced: null },
    anyTag(name, value),
  );
}

/** Characters that open a tag, code or a quotation; a line without them cannot change the state. */
const SIGNIFICANT = /[<>`~"'“”„«»‘’‚]/;

/** Fast path: the state after a text without significant characters; null if the text has some. */
function skip(state: Lines, text: string): Lines | null {
  if (state.inside !== null || state.begun !== '' || state.quoted !== 'no') return null;
  if (SIGNIFICANT.test(state.line) || SIGNIFICANT.test(text)) return null;
  const end = text.lastIndexOf('\n');
  return end < 0 ? extend(state, text) : extend({ ...state, line: '', overlong: false }, text.slice(end + 1));
}

interface Tag {
  /** The tag alone on its line. */
  readonly whole: RegExp;
  /** The tag anywhere in a line. */
  readonly mention: RegExp;
  readonly mayBecome: (text: string) => boolean;
}

interface Lines {
  /** The current line so far. */
  readonly line: string;
  /** The line is too long to be a tag; its rest is not kept. */
  readonly overlong: boolean;
  /** What closes the open block: a code fence, or the end of an HTML element or comment. */
  readonly inside: Block | null;
  /** The beginning of a tag that spans lines. */
  readonly begun: string;
  /** Whether a quotation is open: by a quotation mark at the end of a line, or after a `>` line. */
  readonly quoted: 'no' | 'marks' | 'block';
  readonly match: string | null;
  /** Where the last line with the tag had it, if that was no claim. */
  readonly misplaced: Misplacement | null;
}

type Block = { readonly fence: string } | { readonly end: RegExp };

const MAX_LINE_LENGTH = 4096;
/** The info string of a backtick fence cannot contain backticks. */
const FENCE = /^\s*(?:(`{3,})([^`]*)|(~{3,})(.*))$/;
const CODE_INDENT = /^(?: {4}| {0,3}\t)/;
const HTML = [
  { start: /<pre\b[^>]*>/i, end: /<\/pre>/i },
  { start: /<code\b[^>]*>/i, end: /<\/code>/i },
  { start: /<!--/, end: /-->/ },
];
/** Ends with an opening quotation mark: after whitespace, a bracket or a colon, or alone. */
const OPENS_QUOTE = /(?:^|[\s(:])["'`“„«‘‚]$/;
const HAS_MARK = /["'`“”„«»‘’‚]/;

function extend(state: Lines, text: string): Lines {
  if (text === '' || state.overlong) return state;
  const line = state.line + text;
  if (line.length <= MAX_LINE_LENGTH) return { ...state, line };
  return { ...state, line: line.slice(0, MAX_LINE_LENGTH), overlong: true };
}

/** The text ends here. Without the last character of a tag, its last line has none. */
function atEnd(state: Lines, tag: Tag): Lines {
  return state.line.includes('>') ? endOfLine(state, tag) : state;
}

function endOfLine(state: Lines, tag: Tag): Lines {
  const next = judgeLine(state, tag);
  if (next.match !== null) return next;
  const mention = tag.mention.exec(state.line);
  return mention === null ? next : { ...next, misplaced: placeOf(mention, state) };
}

function judgeLine(state: Lines, tag: Tag): Lines {
  const { line, inside, begun, quoted } = state;
  const text = line.trim();
  if (text === '' && inside === null)
    return { ...state, line: '', overlong: false, quoted: quoted === 'block' ? 'no' : quoted };

  const next: Lines = { ...state, line: '', overlong: false, begun: '', quoted: 'no' };
  const fence = FENCE.exec(line);
  if (inside !== null) return ends(inside, line, fence) ? { ...next, inside: null } : next;
  if (fence !== null) return { ...next, inside: { fence: fence[1] ?? fence[3] ?? '' } };
  const block = HTML.find(({ start, end }) => start.test(line) && !end.test(line));
  if (block !== undefined) return { ...next, inside: { end: block.end } };

  if (text.startsWith('>')) return { ...next, quoted: 'block' };
  if (quoted === 'block') return { ...next, quoted };
  if (quoted === 'marks') return { ...next, quoted: HAS_MARK.test(text) ? 'no' : quoted };
  if (state.overlong || (begun === '' && CODE_INDENT.test(line))) return next;

  const spread = `${begun}\n${text}`;
  for (const candidate of begun === '' ? [text] : [spread, text]) {
    if (tag.whole.test(withoutEmphasis(candidate))) return { ...next, match: candidate };
    if (candidate.startsWith('<') && tag.mayBecome(candidate)) return { ...next, begun: candidate };
  }
  return { ...next, quoted: OPENS_QUOTE.test(text) ? 'marks' : 'no' };
}

/** Removes balanced `*` and `_` around a text and one `.` or `!` behind it. */
function withoutEmphasis(text: string): string {
  let rest = text;
  let hasMark = false;
  for (;;) {
    const last = rest.at(-1) ?? '';
    if (!hasMark && (last === '.' || last === '!')) {
      hasMark = true;
      rest = rest.slice(0, -1);
    } else if (rest.length > 2 && (last === '*' || last === '_') && rest.startsWith(last)) {
      rest = rest.slice(1, -1);
    } else return rest;
  }
}

function placeOf(mention: RegExpExecArray, { line, inside, quoted }: Lines): Misplacement {
  if (inside !== null) return 'code';
  if (quoted !== 'no' || line.trimStart().startsWith('>')) return 'quotation';
  const before = line.slice(0, mention.index).trimEnd();
  if (before.endsWith('`') || CODE_INDENT.test(line)) return 'code';
  return /["'“„«‘‚]$/.test(before) ? 'quotation' : 'text';
}

function ends(inside: Block, line: string, fence: RegExpExecArray | null): boolean {
  if ('end' in inside) return inside.end.test(line);
  const marks = fence?.[1] ?? fence?.[3] ?? '';
  const rest = fence?.[2] ?? fence?.[4] ?? '';
  return marks[0] === inside.fence[0] && marks.length >= inside.fence.length && rest.trim() === '';
}
