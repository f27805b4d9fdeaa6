/**
 * How an agent says that it is done. A detector is data: what to look for, in which text, and when. It opens
 * a claim; whether the claim is accepted is for the evidence to say (see `decide.ts`).
 */
export type Detector = TextDetector | SignDetector;

/** Looks into text; `scan.ts` does the looking, piece by piece. */
export type TextDetector =
  /**
   * `<response>value</response>` on one line: the first tag alone decides, case and outer blanks aside. In the scope of
   * the final answer, one that a stream states apart may also be the bare value.
   */
  | (TagDetector & { readonly kind: 'response-tag' })
  /** `<promise>value</promise>`: any occurrence, blanks and newlines around the value allowed. */
  | (TagDetector & { readonly kind: 'promise-tag' })
  /** A bare word, case-sensitive; inside a longer word it counts only if the policy says so. */
  | (TextSource & { readonly kind: 'word'; readonly value: string; readonly within: 'word' | 'substring' })
  /** A regular expression in Python's syntax; one that backtracks without end holds everything up. */
  | (TextSource & { readonly kind: 'pattern'; readonly pattern: string });

/** Looks at something other than text. */
export type SignDetector =
  /** A file in the loop's folder; only that it is there counts, never its content. */
  | { readonly kind: 'marker'; readonly file: string; readonly phases: readonly Phase[] }
  /** The agent's exit code; in no preset, since exit codes lie. */
  | { readonly kind: 'exit-code'; readonly code: number }
  /** A message of this type on the loop's bus. */
  | { readonly kind: 'bus-message'; readonly message: string; readonly phases: readonly Phase[] };

export interface TextSource {
  readonly scope: Scope;
  /** `after` looks when the run has ended, `continuous` ends the run as soon as the claim is there. */
  readonly phase: 'after' | 'continuous';
  /** Whether what a session said before the loop began counts as well. */
  readonly history: 'loop' | 'session';
}

interface TagDetector extends TextSource {
  readonly value: string;
  /** `own-line`: alone on its line in the last message, outside code and quotation. `anywhere`: as its document says. */
  readonly placement: 'own-line' | 'anywhere';
}

/**
 * The text that a detector reads. The echoed prompt, tool results and reasoning belong to none of them; `raw`
 * and `screen` exist for agents whose output cannot be told apart any better. `captured` is the final answer, and with
 * an agent that nobody can read also what it wrote to its standard error.
 */
export const SCOPES = ['assistant-text', 'final-answer', 'captured', 'raw-output', 'screen'] as const;
export type Scope = (typeof SCOPES)[number];

/** When a sign is looked for: before a run, after it, or both. */
export const PHASES = ['before', 'after'] as const;
export type Phase = (typeof PHASES)[number];

/** The agent's word that it is done. `checks` stands for green checks that need nobody's word. */
export interface Claim {
  readonly by: Detector['kind'] | 'checks';
  /** What was seen, shortened. */
  readonly text: string;
}

export function isTextDetector(detector: Detector): detector is TextDetector {
  return 'scope' in detector;
}
