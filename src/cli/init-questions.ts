/** The three questions of `ralph init`, those of `--advanced`, and the settings made from the answers: only what differs from the defaults. */
import type { Suggestions } from '../loops/suggestions.ts';
import type { Settings } from '../settings/settings.ts';
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

/** Asks which agent works, which checks verify its work, and whether to commit it; with `isAdvanced`, the rest as well. */
export async function askForSettings(
  prompter: Prompter,
  found: Suggestions,
  isAdvanced: boolean,
): Promise<Settings> {
  const { agents } = found;
  prompter.note(
    agents.length > 0
      ? `Agents found: ${agents.map(({ command, login }) => `${command} (${login})`).join(', ')}`
      : 'No supported agent found (see ralph agents). Any command that reads its\nprompt from stdin works, for example ./my-agent.',
  );
  const [command, ...flags] = await askUntilValid(
    prompter,
    { text: 'Agent: ', suggestion: agents[0]?.command },
    answers.agentCommand,
  );
  if (!found.has(command)) prompter.note(notInstalled(command));
  const checks = await askForChecks(prompter, found);
  const commits = await askYesOrNo(prompter, 'Commit every iteration whose checks pass? (y/N): ');
  const { flags: others, ...more } = isAdvanced ? await askForMore(prompter) : { flags: [] };
  return settingsOf(found, {
    ...more,
    agent: { command, flags: [...flags, ...others] },
    checks,
    commits,
  });
}

interface Chosen extends Omit<More, 'flags'> {
  readonly agent: { readonly command: string; readonly flags: readonly string[] };
  readonly checks: readonly string[];
  readonly commits: boolean;
}

/** What `--advanced` asks; absent for the default. */
interface More {
  readonly flags: readonly string[];
  readonly maxIterations?: number;
  readonly maxCost?: number;
  readonly worktree?: true;
  readonly sandbox?: true;
}

export function settingsOf(
  { schema }: Pick<Suggestions, 'schema'>,
  { agent: { command, flags }, checks, commits, ...more }: Chosen,
): Settings {
  return {
    ...(schema === null ? {} : { $schema: schema }),
    agent: { command, ...(flags.length === 0 ? {} : { flags }) },
    checks: checks.map((one) => ({ command: one })),
    ...(commits ? { scm: { command: 'git', tasks: ['commit'] } } : {}),
    ...more,
  };
}

export function notInstalled(command: string): string {
  return `${command} is not installed; ralph run needs it (see ralph agents)`;
}

/** Asks before existing settings are replaced. */
export function askToOverwrite(prompter: Prompter): Promise<boolean> {
  return askYesOrNo(prompter, 'Overwrite? (y/N): ');
}

async function askForChecks(prompter: Prompter, found: Suggestions): Promise<readonly string[]> {
  const offered = found.checks.map(({ command }) => command);
  if (offered.length > 0)
    prompter.note('Checks found here: Enter accepts them, typing replaces them, ← edits them.');
  const checks = answers.commands(
    await prompter.ask({
      text: 'Checks that must pass (several as: npm test, npm run lint): ',
      ...(offered.length === 0 ? {} : { suggestion: offered.join(', ') }),
    }),
  );
  prompter.note(checks.length === 0 ? NO_CHECKS : checks.map((check) => `Check: ${check}`).join('\n'));
  return checks;
}

export const NO_CHECKS = 'Without checks, Ralph cannot verify that the work is done.';

async function askForMore(prompter: Prompter): Promise<More> {
  const flags = answers.list(await prompter.ask({ text: 'Agent flags (comma-separated, optional): ' }));
  const iterations = await askUntilValid(
    prompter,
    { text: 'Maximum iterations [10]: ', fallback: '10' },
    answers.iterations,
  );
  const maxCost = await askUntilValid(
    prompter,
    { text: 'Maximum cost in dollars (blank for no limit): ' },
    answers.cost,
  );
  const worktree = await askYesOrNo(prompter, 'Work in a worktree beside the repository? (y/N): ');
  const sandbox = await askYesOrNo(prompter, 'Run the agent in a sandbox? (y/N): ');
  return {
    flags,
    ...(iterations === 10 ? {} : { maxIterations: iterations }),
    ...(maxCost === null ? {} : { maxCost }),
    ...(worktree ? { worktree } : {}),
    ...(sandbox ? { sandbox } : {}),
  };
}

function askYesOrNo(prompter: Prompter, text: string): Promise<boolean> {
  return askUntilValid(prompter, { text, fallback: 'n' }, answers.yesOrNo);
}

/** Repeats the question until the answer is valid. */
export async function askUntilValid<Value>(
  prompter: Prompter,
  question: Question,
  parse: (answer: string) => Answer<Value>,
): Promise<Value> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- a person answers one question after the other
    const answer = parse(await prompter.ask(question));
    if (answer.ok) return answer.value;
    prompter.error(answer.problem);
  }
}
