/** Whether a prompt is the starter prompt as `ralph init --prompt` and `ralph template` make it: it says nothing about the project. */
export function isStarterPrompt(prompt: string): boolean {
  return bare(prompt) === bare(STARTER_PROMPT);
}

function bare(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** The starter prompt of document 003. */
export const STARTER_PROMPT: string = `study specs/README.md
study CLAUDE.md and pick the most important incomplete task

IMPORTANT:

- do not assume anything is implemented - verify by reading code
- update IMPLEMENTATION_PLAN.md when the task is done
- if tests are missing, add them (choose unit/integration/property as appropriate, follow existing patterns)
- run tests after changes
- commit and push when you are done
`;
