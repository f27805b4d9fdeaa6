/** Whether an interactive agent is ready for its prompt, by what its terminal shows (document 003). */
export function looksReady(screen: string): boolean {
  return screen.split('\n').some((line) => READY.some((pattern) => pattern.test(`${line} `)));
}

/**
 * Whether the terminal ends with a question that Enter answers, such as whether to trust the folder. It is a person's to
 * answer: a prompt would be lost, and its Enter would choose whatever is selected.
 */
export function asksQuestion(screen: string): boolean {
  return screen
    .trimEnd()
    .split('\n')
    .slice(-QUESTION_LINES)
    .some((line) => QUESTION.test(line));
}

/** What Claude Code and Codex show below their questions. */
const QUESTION = /\benter(?:\/esc)?\s+(?:to\s+)?(?:confirm|continue)\b/i;
const QUESTION_LINES = 5;

/** A sign of a prompt stands at the start of a line. A capture has no blanks at the end of a line, so one is added. */
const READY: readonly RegExp[] = [
  /bypass\s+permissions/,
  /permissions?\s+mode/,
  /shift\+tab\s+to\s+cycle/,
  /Claude\s+Code\s+v\d+/,
  /^>\s/,
  /❯\s/,
  /opencode\s+v\d+/,
  /tab\s+switch\s+agent/,
  /ctrl\+p\s+commands/,
  /^\$\s/,
  /^>>>\s/,
  // Not in document 003. Codex shows a prompt sign before it has asked its questions, and its model and folder after.
  /^\s+\S.*\s·\s[~/]/,
];
