/**
 * How an agent claims to be done. A detector is data: what to look for, in which text, and when. It opens a claim; the
 * evidence accepts or rejects it (see `decide.ts`).
 */
export type Detector = TextDetector | SignDetector;

/** Searches text; `scan.ts` runs the search on a stream. */
export type TextDetector =
  /**
   * `<response>value</response>` on one line: only the first tag counts; case and outer whitespace are ignored. In the
   * scopes `final-answer` and `captured`, an answer that the stream reports separately may also be the bare value.
   */
  | (TagDetector & { readonly kind: 'response-tag' })
  /** `<promise>value</promise>`: any occurrence; whitespace around the value is allowed. */
  | (TagDetector & { readonly kind: 'promise-tag' })
  /** A bare word, case-sensitive. No preset uses `substring`, which also matches inside a longer word. */
  | (TextSource & { readonly kind: 'word'; readonly value: string; readonly within: 'word' | 'substring' })
  /** A regular expression in Python's syntax. */
  | (TextSource & { readonly kind: 'pattern'; readonly pattern: string });

/** Looks at something else than text. */
export type SignDetector =
  /** A file in the loop's folder; only its existence counts, not its content. */
  | { readonly kind: 'marker'; readonly file: string; readonly phases: readonly Phase[] }
  /** The agent's exit code; no preset uses it, since exit codes are often wrong. */
  | { readonly kind: 'exit-code'; readonly code: number }
  /** A message of this type on the loop's bus. */
  | { readonly kind: 'bus-message'; readonly message: string; readonly phases: readonly Phase[] };

export interface TextSource {
  readonly scope: Scope;
  /** `after` searches when the run has ended; `continuous` ends the run as soon as the claim appears. */
  readonly phase: 'after' | 'continuous';
  /** Whether text that a session contains from before the loop counts too. */
  readonly history: 'loop' | 'session';
}

interface TagDetector extends TextSource {
  readonly value: string;
  /**
   * `own-line`: alone on its line in the last message, outside of code and quotation; the line may be emphasised with `*` or
   * `_` and end with one `.` or `!`. `last-line`: the same, with no text after it. `anywhere`: any position.
   */
  readonly placement: Placement;
}

export const PLACEMENTS = ['own-line', 'last-line', 'anywhere'] as const;
export type Placement = (typeof PLACEMENTS)[number];

/**
 * The text that a detector searches. No scope includes the echoed prompt, tool results or reasoning. `raw-output` and
 * `screen` are for agents whose output cannot be parsed. `captured` is the answer that the stream reports; without one it is
 * the last message, or all messages as one text, and for an agent without a parser also its stderr.
 */
export const SCOPES = ['assistant-text', 'final-answer', 'captured', 'raw-output', 'screen'] as const;
export type Scope = (typeof SCOPES)[number];

/** When a probe looks: before a run, after it, or both. */
export const PHASES = ['before', 'after'] as const;
export type Phase = (typeof PHASES)[number];

/** The agent's statement that it is done. `checks`: every check passed, where that alone is enough. */
export interface Claim {
  readonly by: Detector['kind'] | 'checks';
  /** What the detector found, shortened. */
  readonly text: string;
}

/** The tag of a detector in the agent's last run, where it is no claim. */
export interface NearMiss {
  /** The tag, shortened. */
  readonly tag: string;
  readonly where: Misplacement;
}

/** Why a tag is no claim: other text around it, code, a quotation, or a later message. */
export type Misplacement = 'text' | 'code' | 'quotation' | 'earlier-message';

export function isTextDetector(detector: Detector): detector is TextDetector {
  return 'scope' in detector;
}
