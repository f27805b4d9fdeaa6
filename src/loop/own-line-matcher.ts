import type { Matcher } from './matcher.ts';
import { mayBecomeTag, tagPattern } from './tag-matcher.ts';

/**
 * A tag that is meant, not mentioned: alone on its line (or spread over lines of its own), outside code fences,
 * indented code and quotation. "I will not say <promise>DONE</promise> yet" is no claim, and neither is the
 * tag in a code block or behind a `>`.
 */
export function ownLineTag(name: string, value: string): Matcher {
  const whole = tagPattern(name, value, true);

  const reading = (state: Lines): Matcher => ({
    read(text) {
      const lines = text.split('\n');
      const last = lines.pop() ?? '';
      let current = state;
      for (const line of lines) current = endOfLine(extend(current, line), whole, name, value);
      return reading(extend(current, last));
    },
    found: (ended) => (ended ? endOfLine(state, whole, name, value) : state).match,
    held: state.line.length + state.begun.length,
  });
  return reading({ line: '', overlong: false, fence: null, begun: '', quoteOpen: false, match: null });
}

interface Lines {
  /** The line that is being read. */
  readonly line: string;
  /** It is too long to be a tag; the rest of it is not kept. */
  readonly overlong: boolean;
  /** The code fence that is open. */
  readonly fence: string | null;
  /** The beginning of a tag that is spread over lines. */
  readonly begun: string;
  /** The line before ended by opening a quotation. */
  readonly quoteOpen: boolean;
  readonly match: string | null;
}

const LONGEST_LINE = 4096;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const CODE_INDENT = /^(?: {4}| {0,3}\t)/;
/** Ends with a quotation mark or backtick that opens something: after a blank, a bracket or a colon. */
const OPENS_QUOTE = /(?:^|[\s(:])["'`]$|[“„«‘]$/;

function extend(state: Lines, text: string): Lines {
  if (text === '' || state.overlong) return state;
  const line = state.line + text;
  return line.length > LONGEST_LINE
    ? { ...state, line: line.slice(0, LONGEST_LINE), overlong: true }
    : { ...state, line };
}

function endOfLine(state: Lines, whole: RegExp, name: string, value: string): Lines {
  const next: Lines = { ...state, line: '', overlong: false, begun: '', quoteOpen: false };
  const fence = FENCE.exec(state.line);
  if (state.fence !== null) return closes(state.fence, fence) ? { ...next, fence: null } : next;
  if (fence !== null) return { ...next, fence: fence[1] ?? '' };
  if (state.overlong || CODE_INDENT.test(state.line)) return next;

  const text = state.line.trim();
  if (text === '') return { ...next, begun: state.begun, quoteOpen: state.quoteOpen };
  if (state.quoteOpen) return next;
  const tag = state.begun === '' ? text : `${state.begun}\n${text}`;
  if (whole.test(tag)) return { ...next, match: tag };
  if (text.startsWith('<') || state.begun !== '')
    return { ...next, begun: mayBecomeTag(tag, name, value) ? tag : '' };
  return { ...next, quoteOpen: OPENS_QUOTE.test(text) };
}

function closes(open: string, fence: RegExpExecArray | null): boolean {
  const marks = fence?.[1] ?? '';
  return marks[0] === open[0] && marks.length >= open.length && fence?.[2]?.trim() === '';
}
