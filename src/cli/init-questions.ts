/** The questions of `ralph init`, in their order, and the settings that come of them. */
import type { Surroundings } from '../views/look-around.ts';
import type { CheckSettings, ScmSettings, Settings } from '../config/config.ts';
import * as answers from './init-answers.ts';
import type { Answer } from './init-answers.ts';

/** Somebody to ask. */
export interface Person {
  /** What they typed; a suggestion stands there already and is theirs to take, to change or to clear. */
  answers(question: Question): Promise<string>;
  hears(text: string): void;
  isCorrected(problem: string): void;
}

export interface Question {
  readonly text: string;
  readonly suggestion?: string | undefined;
  /** What no answer means, where that goes without saying. */
  readonly otherwise?: string | undefined;
}

/** Asks everything that the settings need. */
export async function askForSettings(person: Person, found: Surroundings): Promise<Settings> {
  const [command, ...typed] = await insist(
    person,
    {
      text: 'Agent command (e.g., claude, codex, amp, or other LLM CLI): ',
      suggestion: found.agents[0],
    },
    answers.agentCommand,
  );
  if (!found.has(command))
    person.hears(`${command} is not installed here: ralph run needs it, ralph agents tells more`);
  const asked = await person.answers({ text: 'Agent flags (comma-separated, optional): ' });
  const flags = [...typed, ...answers.list(asked)];
  const maxIterations = await insist(
    person,
    { text: 'Maximum iterations [10]: ', otherwise: '10' },
    answers.iterations,
  );
  const completionResponse = await insist(
    person,
    { text: 'Completion response [DONE]: ', otherwise: 'DONE' },
    answers.completionResponse,
  );
  const checks = await askForChecks(person, found);
  const scm = await askForScm(person);
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

/** The whole file, in the order of document 001: it is read by people. */
export function settingsOf({ schema }: Pick<Surroundings, 'schema'>, { scm, ...chosen }: Chosen): Settings {
  return {
    $schema: schema,
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

/** What is asked before settings that are there are replaced. */
export function askToOverwrite(person: Person): Promise<boolean> {
  return insist(person, { text: 'Overwrite? (y/N): ', otherwise: 'n' }, answers.yesOrNo);
}

async function askForChecks(person: Person, found: Surroundings): Promise<readonly CheckSettings[]> {
  const taken: CheckSettings[] = [];
  const offered = found.checks.map(({ command }) => command);
  if (offered.length > 0)
    person.hears(
      `Checks found here: ${offered.join(', ')}\nEach is offered below: Enter takes it, typing replaces it, ← edits it,\nCtrl-U and Enter leaves it and finishes.`,
    );
  for (;;) {
    const suggestion = offered.find((command) => !taken.some((one) => one.command === command));
    // What was offered once and not taken is not wanted.
    offered.splice(0, suggestion === undefined ? offered.length : offered.indexOf(suggestion) + 1);
    // oxlint-disable-next-line no-await-in-loop -- a person answers one question after the other
    const command = (await person.answers({ text: GUARDRAIL, suggestion })).trim();
    if (command === '') return taken;
    // oxlint-disable-next-line no-await-in-loop -- as above
    taken.push(await askAboutCheck(person, command));
  }
}

const GUARDRAIL = 'Add guardrail command (leave blank to finish): ';

async function askAboutCheck(person: Person, command: string): Promise<CheckSettings> {
  const failAction = await insist(
    person,
    { text: '  Fail action (APPEND|PREPEND|REPLACE): ', otherwise: 'APPEND' },
    answers.failAction,
  );
  const hint = (await person.answers({ text: '  Hint (optional, guidance for agent on failure): ' })).trim();
  return { command, failAction, ...(hint === '' ? {} : { hint }) };
}

async function askForScm(person: Person): Promise<ScmSettings | null> {
  const isWanted = await insist(person, { text: 'Configure SCM? (y/N): ', otherwise: 'n' }, answers.yesOrNo);
  if (!isWanted) return null;
  const command = await insist(person, { text: '  SCM command (e.g., git): ', otherwise: 'git' }, (answer) =>
    answers.command(answer, 'git'),
  );
  const question = { text: '  SCM tasks (comma-separated, e.g., commit,push): ', otherwise: 'commit' };
  const tasks = await insist(person, question, (answer) => answers.tasks(answer, 'commit'));
  return { command, tasks };
}

/** Asks again and again, until the answer is one. */
async function insist<Value>(
  person: Person,
  question: Question,
  understand: (answer: string) => Answer<Value>,
): Promise<Value> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- as above
    const answer = understand(await person.answers(question));
    if (answer.ok) return answer.value;
    person.isCorrected(answer.problem);
  }
}
