/** The questions of document 001, in its texts and order, and the settings made from the answers. */
import type { Suggestions } from '../loops/suggestions.ts';
import type { CheckSettings, ScmSettings, Settings } from '../settings/settings.ts';
import * as answers from './init-answers.ts';
import { askUntilValid, notInstalled, type Prompter } from './init-questions.ts';

/** Asks the questions of document 001. */
export async function askForDocument(prompter: Prompter, found: Suggestions): Promise<Settings> {
  const [command, ...typed] = await askUntilValid(
    prompter,
    {
      text: 'Agent command (e.g., claude, codex, amp, or other LLM CLI): ',
      suggestion: found.agents[0]?.command,
    },
    answers.agentCommand,
  );
  if (!found.has(command)) prompter.note(notInstalled(command));
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
  return documentSettings(found, {
    maxIterations,
    completionResponse,
    agent: { command, flags },
    checks,
    scm,
  });
}

interface Chosen {
  readonly maxIterations: number;
  readonly completionResponse: string;
  readonly agent: { readonly command: string; readonly flags: readonly string[] };
  readonly checks: readonly CheckSettings[];
  readonly scm: ScmSettings | null;
}

/** The settings file of document 001, with its keys in their order. */
export function documentSettings(
  { schema }: Pick<Suggestions, 'schema'>,
  { scm, ...chosen }: Chosen,
): Settings {
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
