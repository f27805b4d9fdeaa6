/** What document 000 puts in front of every prompt: the run's ids and folders, and what the agent can do with them. */

/** The beginning of a prompt, up to the line that separates it from the task. */
export function preamble({ variables, outputFile, doneFile, agent }: PreambleInputs): string {
  const [before, after] = agent === null ? ['', ' -- COMMAND'] : [` --agent ${agent}`, ''];
  return [
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    '',
    `Write output.md to ${outputFile}`,
    '',
    '## Message Bus',
    '',
    'Other agents and people read the message bus of this task, and write to it. Post what they should know, and read what they say:',
    '',
    '    ralph bus post --type PROGRESS "what you have done"',
    '    ralph bus post --type QUESTION "what only a person can decide"',
    '    ralph bus read --tail 20',
    '',
    'Useful types are FACT, PROGRESS, DECISION, ISSUE and QUESTION.',
    '',
    '## Sub-Agent Spawning (RLM Pattern)',
    '',
    'If the task is too large for one context, split it and give each part to an agent of its own:',
    '',
    `    ralph run${before} "the part, with everything that its agent has to know"${after}`,
    `    ralph spawn --name part-1 --max-iterations 5${before} "the part"${after}`,
    '',
    '`ralph run` waits for the child and exits as it does; `ralph spawn` returns at once. Children that still run when you are done are waited for.',
    '',
    '## Completion',
    '',
    `When done, create: ${doneFile}`,
    'Without that file you are started again with a fresh context. Create it only when the whole task is done.',
    '',
    '---',
  ].join('\n');
}

export interface PreambleInputs {
  /** In this order. */
  readonly variables: Readonly<Record<string, string>>;
  /** Absolute paths. */
  readonly outputFile: string;
  readonly doneFile: string;
  /** The name of the agent, for its children; null if it is a command of the user. */
  readonly agent: string | null;
}
