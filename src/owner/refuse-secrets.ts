import type { Policy } from '../loop/policy.ts';
import { hasKey, hideKeys, secretIn } from '../loop/secrets.ts';
import type { PromptSource } from '../store/spec.ts';
import { UserError } from '../user-error.ts';

/** Refuses checks, set-up commands, SCM tasks and prompts with a secret, because they end up in the journal and in logs. */
export function refuseSecrets({ policy, prompt, env, worktree }: RequestWithTexts): void {
  const { checks, commit, worktree: tree } = policy;
  for (const command of worktree === true ? tree.setup : []) refuseKey('a set-up command', command, env);
  for (const { command } of checks.commands) refuseKey('a check', command, env);
  for (const words of commit === null ? [] : [commit.command, ...commit.tasks])
    refuseSecret('an SCM task', words, env, 'use a credential helper instead');
  if ('text' in prompt) refuseSecret('the prompt', prompt.text, env, 'remove it');
}

interface RequestWithTexts {
  readonly policy: Policy;
  readonly prompt: PromptSource;
  readonly env: Readonly<Record<string, string>>;
  readonly worktree?: boolean;
}

/** Refuses the value of a secret variable. */
function refuseSecret(
  what: string,
  text: string,
  env: Readonly<Record<string, string>>,
  remedy?: string,
): void {
  const name = secretIn(text, env);
  if (name === null) return;
  const instead = remedy ?? `write '$${name}' in single quotes instead`;
  throw new UserError(`${what} contains the value of $${name}; ${instead}, to keep it out of the logs`);
}

/** Also refuses a text that looks like a key. */
function refuseKey(what: string, command: string, env: Readonly<Record<string, string>>): void {
  refuseSecret(what, command, env);
  if (!hasKey(command)) return;
  throw new UserError(
    `${what} contains what looks like a key: ${hideKeys(command)}; pass it as a variable (--env NAME=…) and write '$NAME' instead, to keep it out of the logs`,
  );
}
