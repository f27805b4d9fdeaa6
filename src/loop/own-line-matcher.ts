import type { Matcher } from './matcher.ts';
import { mayBecomeTag, tagPattern } from './tag-matcher.ts';

/**
 * A tag that is meant, not mentioned: alone on its line (or spread over lines of its own), outside code, comments
 * and quotation. "I will not say <promise>DONE</promise> yet" is no claim, and neither is the tag in a code block or
 * behind a `>`. Where it is not clear, it is no claim: that costs an iteration, a false one costs the night.
 */
export function ownLineTag(name: string, value: string): Matcher {
  const tag: Tag = {
    whole: tagPattern(name, value, true),
    mayBecome: (text) => mayBecomeTag(text, name, value),
  };
  const reading = (state: Lines): Matcher => ({
    read(text) {
      const known = skip(state, text);
      if (known !== null) return reading(known);
      const lines = text.split('\n');
      const last = lines.pop() ?? '';
      let current = state;
      for (const line of lines) current = endOfLine(extend(current, line), tag);
      return reading(extend(current, last));
    },
    found: (ended) => (ended ? endOfLine(state, tag) : state).match,
    held: state.line.length + state.begun.length,
  });
  return reading({ line: '', overlong: false, inside: null, begun: '', quoted: 'no', match: null });
}

/** What cannot be in a line that changes nothing. */
const NEEDS_A_LOOK = /[<>`~"'“”„«»‘’‚]/;

/** The state after a text that has no mark in it, so that every line of it ends without a consequence; else null. */
function skip(state: Lines, text: string): Lines | null {
  if (state.inside !== null || state.begun !== '' || state.quoted !== 'no') return null;
  if (NEEDS_A_LOOK.test(state.line) || NEEDS_A_LOOK.test(text)) return null;
  const end = text.lastIndexOf('\n');
  return end < 0 ? extend(state, text) : extend({ ...state, line: '', overlong: false }, text.slice(end + 1));
}

interface Tag {
  readonly whole: RegExp;
  readonly mayBecome: (text: string) => boolean;
}

interface Lines {
  /** The line that is being read. */
  readonly line: string;
  /** It is too long to be a tag; the rest of it is not kept. */
  readonly overlong: boolean;
  /** What ends the block that is open: a code fence, or the end of an HTML element or comment. */
  readonly inside: Block | null;
  /** The beginning of a tag that is spread over lines. */
  readonly begun: string;
  /** A quotation was opened by marks at the end of a line, or goes on behind a `>` line. */
  readonly quoted: 'no' | 'marks' | 'block';
  readonly match: string | null;
}

type Block = { readonly fence: string } | { readonly end: RegExp };

const LONGEST_LINE = 4096;
/** Backticks may not stand in the info string of a fence of backticks. */
const FENCE = /^\s*(?:(`{3,})([^`]*)|(~{3,})(.*))$/;
const CODE_INDENT = /^(?: {4}| {0,3}\t)/;
const HTML = [
  { start: /<pre\b[^>]*>/i, end: /<\/pre>/i },
  { start: /<code\b[^>]*>/i, end: /<\/code>/i },
  { start: /<!--/, end: /-->/ },
];
/** Ends with a mark that opens something: behind a blank, a bracket or a colon, or alone. */
const OPENS_QUOTE = /(?:^|[\s(:])["'`“„«‘‚]$/;
const HAS_MARK = /["'`“”„«»‘’‚]/;

function extend(state: Lines, text: string): Lines {
  if (text === '' || state.overlong) return state;
  const line = state.line + text;
  if (line.length <= LONGEST_LINE) return { ...state, line };
  return { ...state, line: line.slice(0, LONGEST_LINE), overlong: true };
}

function endOfLine(state: Lines, tag: Tag): Lines {
  const next: Lines = { ...state, line: '', overlong: false, begun: '', quoted: 'no' };
  const { line, inside, begun, quoted } = state;
  const fence = FENCE.exec(line);
  if (inside !== null) return ends(inside, line, fence) ? { ...next, inside: null } : next;
  if (fence !== null) return { ...next, inside: { fence: fence[1] ?? fence[3] ?? '' } };
  const block = HTML.find(({ start, end }) => start.test(line) && !end.test(line));
  if (block !== undefined) return { ...next, inside: { end: block.end } };

  const text = line.trim();
  if (text === '') return { ...next, begun, quoted: quoted === 'block' ? 'no' : quoted };
  if (text.startsWith('>')) return { ...next, quoted: 'block' };
  if (quoted === 'block') return { ...next, quoted };
  if (quoted === 'marks') return { ...next, quoted: HAS_MARK.test(text) ? 'no' : quoted };
  if (state.overlong || (begun === '' && CODE_INDENT.test(line))) return next;

  const spread = `${begun}\n${text}`;
  for (const candidate of begun === '' ? [text] : [spread, text]) {
    if (tag.whole.test(candidate)) return { ...next, match: candidate };
    if (candidate.startsWith('<') && tag.mayBecome(candidate)) return { ...next, begun: candidate };
  }
  return { ...next, quoted: OPENS_QUOTE.test(text) ? 'marks' : 'no' };
}

function ends(inside: Block, line: string, fence: RegExpExecArray | null): boolean {
  if ('end' in inside) return inside.end.test(line);
  const marks = fence?.[1] ?? fence?.[3] ?? '';
  const rest = fence?.[2] ?? fence?.[4] ?? '';
  return marks[0] === inside.fence[0] && marks.length >= inside.fence.length && rest.trim() === '';
}
