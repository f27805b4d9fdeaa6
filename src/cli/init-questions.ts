/** The questions of `ralph init`, in the order of document 001, and the settings made from the answers. */
import type { Suggestions } from '../loops/suggestions.ts';
import type { CheckSettings, ScmSettings, Settings } from '../settings/settings.ts';
import * as answers from './init-answers.ts';
import type { Answer } from './init-answers.ts';

/** Where the questions are asked: a terminal, or a test. */
export interface Prompter {
  /** The answer. A suggestion is already in the line; the user can take, change or clear it. */
  ask(question: Question): Promise<string>;
  note(text: string): void;
  error(problem: string): void;
}

export interface Question {
  readonly text: string;
  readonly suggestion?: string | undefined;
  /** The value of an empty answer. */
  readonly fallback?: string | undefined;
}

/** Asks for the settings. */
export async function askForSettings(prompter: Prompter, found: Suggestions): Promise<Settings> {
  const [command, ...typed] = await askUntilValid(
    prompter,
    {
      text: 'Agent command (e.g., claude, codex, amp, or other LLM CLI): ',
      suggestion: found.agents[0],
    },
    answers.agentCommand,
  );
  if (!found.has(command))
    prompter.note(`${command} is not installed; ralph run needs it (see ralph agents)`);
  const asked = await prompter.ask({ text: 'Agent flags (comma-separated, optional): ' });
  const flags = [...typed, ...answers.list(asked)];
  const maxIterations = await askUntilValid(
    prompter,
    { text: 'Maximum iterations [10]: ', fallback: '10' },
    answers.iterations,
  );
  const completionResponse = await askUntilValid(
    prompter,
    { text: 'Completion response [DONE]: ', fallback: 'DONE' },
    answers.completionResponse,
  );
  const checks = await askForChecks(prompter, found);
  const scm = await askForScm(prompter);
  return settingsOf(found, {
    maxIterations,
    completionResponse,
    agent: { command, flags },
    checks,
    scm,
  });
}

export interface Chosen {
  readonly maxIterations: number;
  readonly completionResponse: string;
  readonly agent: { readonly command: string; readonly flags: readonly string[] };
  readonly checks: readonly CheckSettings[];
  readonly scm: ScmSettings | null;
}

/** The settings file, with its keys in the order of document 001. */
export function settingsOf({ schema }: Pick<Suggestions, 'schema'>, { scm, ...chosen }: Chosen): Settings {
  return {
    ...(schema === null ? {} : { $schema: schema }),
    maxIterations: chosen.maxIterations,
    completionResponse: chosen.completionResponse,
    outputTruncateChars: 5000,
    streamAgentOutput: true,
    includeIterationCountInPrompt: false,
    agent: chosen.agent,
    checks: chosen.checks,
    ...(scm === null ? {} : { scm }),
  };
}

/** Asks before existing settings are replaced. */
export function askToOverwrite(prompter: Prompter): Promise<boolean> {
  return askUntilValid(prompter, { text: 'Overwrite? (y/N): ', fallback: 'n' }, answers.yesOrNo);
}

async function askForChecks(prompter: Prompter, found: Suggestions): Promise<readonly CheckSettings[]> {
  const accepted: CheckSettings[] = [];
  const offered = found.checks.map(({ command }) => command);
  if (offered.length > 0)
    prompter.note(
      `Checks found: ${offered.join(', ')}\nEach is suggested below. Enter accepts it, typing replaces it, ← edits it,\nCtrl-U and Enter skips it and finishes.`,
    );
  for (;;) {
    const suggestion = offered.find((command) => !accepted.some((one) => one.command === command));
    // A check that was suggested and not accepted is not suggested again.
    offered.splice(0, suggestion === undefined ? offered.length : offered.indexOf(suggestion) + 1);
    // oxlint-disable-next-line no-await-in-loop -- a person answers one question after the other
    const command = (await prompter.ask({ text: GUARDRAIL, suggestion })).trim();
    if (command === '') return accepted;
    // oxlint-disable-next-line no-await-in-loop -- as above
    accepted.push(await askAboutCheck(prompter, command));
  }
}

const GUARDRAIL = 'Add guardrail command (leave blank to finish): ';

async function askAboutCheck(prompter: Prompter, command: string): Promise<CheckSettings> {
  const failAction = await askUntilValid(
    prompter,
    { text: '  Fail action (APPEND|PREPEND|REPLACE): ', fallback: 'APPEND' },
    answers.failAction,
  );
  const hint = (await prompter.ask({ text: '  Hint (optional, guidance for agent on failure): ' })).trim();
  return { command, failAction, ...(hint === '' ? {} : { hint }) };
}

async function askForScm(prompter: Prompter): Promise<ScmSettings | null> {
  const isWanted = await askUntilValid(
    prompter,
    { text: 'Configure SCM? (y/N): ', fallback: 'n' },
    answers.yesOrNo,
  );
  if (!isWanted) return null;
  const command = await askUntilValid(
    prompter,
    { text: '  SCM command (e.g., git): ', fallback: 'git' },
    (answer) => answers.command(answer, 'git'),
  );
  const question = { text: '  SCM tasks (comma-separated, e.g., commit,push): ', fallback: 'commit' };
  const tasks = await askUntilValid(prompter, question, (answer) => answers.tasks(answer, 'commit'));
  return { command, tasks };
}

/** Repeats the question until the answer is valid. */
async function askUntilValid<Value>(
  prompter: Prompter,
  question: Question,
  parse: (answer: string) => Answer<Value>,
): Promise<Value> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- as above
    const answer = parse(await prompter.ask(question));
    if (answer.ok) return answer.value;
    prompter.error(answer.problem);
  }
}
