/** Whether an interactive agent is ready for its prompt, by what its terminal shows (document 003). */
export function looksReady(screen: string): boolean {
  return screen.split('\n').some((line) => READY.some((pattern) => pattern.test(`${line} `)));
}

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
];
