import type { Policy } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import type { PromptSource } from '../store/spec.ts';
import { UserError } from '../user-error.ts';
import { readBase } from './prompt-source.ts';

/** Refuses a prompt without a word in it; returns a warning instead where the preset allows such a prompt. */
export function refuseEmptyPrompt({ prompt, promptFrom, policy }: PromptRequest): readonly string[] {
  if (!isBlank(prompt)) return [];
  const { emptyPrompts } = presets[policy.preset];
  const file = promptFrom ?? ('file' in prompt ? prompt.file : 'spec' in prompt ? prompt.spec : null);
  const where = file === null ? 'the prompt is empty' : `the prompt is empty: ${file} has no text`;
  if (emptyPrompts === 'everywhere' || (emptyPrompts === 'in-files' && file !== null))
    return [`warning: ${where}; the agent gets no task`];
  throw new UserError(`${where}; write down what the agent should do`);
}

function isBlank(prompt: PromptSource): boolean {
  try {
    return readBase(prompt).text.trim() === '';
  } catch {
    // The first run reports a file that disappeared.
    return false;
  }
}

interface PromptRequest {
  readonly prompt: PromptSource;
  /** Where the text of the prompt was read from, if from a file or a pipe; as the user named it. */
  readonly promptFrom?: string | undefined;
  readonly policy: Policy;
}
