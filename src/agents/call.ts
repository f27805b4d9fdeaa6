import type { Agent, CallForm, PromptVia } from './agent.ts';

/** The part of an agent's spec that determines its command line. */
export interface Called {
  readonly argv: readonly string[];
  readonly promptVia?: PromptVia;
}

/** The complete command line of one run; `prompt` is called only if the prompt is an argument. */
export function commandLine(
  agent: Agent,
  spec: Called,
  form: Omit<CallForm, 'flags' | 'prompt'> & {
    readonly via: PromptVia;
    readonly prompt: () => string;
    readonly promptFile: string;
  },
): readonly string[] {
  const [program = '', ...flags] = spec.argv;
  const { via } = form;
  const prompt = via === 'stdin' ? null : via === 'file' ? form.promptFile : form.prompt();
  if (agent.call === null) return prompt === null ? spec.argv : [...spec.argv, prompt];
  return [program, ...agent.call.args({ ...form, flags, prompt })];
}

/** How to pass a prompt of this size: one that is too long for an argument is passed on stdin. */
export function promptWay(agent: Agent, spec: Called, bytes: number): PromptVia {
  const way = spec.promptVia ?? agent.call?.promptVia ?? 'stdin';
  return way === 'argument' && bytes > MAX_ARGUMENT_BYTES ? 'stdin' : way;
}

/** Linux allows 128 KiB for one argument. */
const MAX_ARGUMENT_BYTES = 100 * 1024;

/** The user's flags without those that the adapter adds itself; null if they ask for plain text instead of a stream. */
export function flagsFrom({ call }: Agent, given: readonly string[]): readonly string[] | null {
  if (call === null) return null;
  const { commands, flags, format } = call.own;
  const kept: string[] = [];
  for (let at = 0; at < given.length; at++) {
    const word = given[at] ?? '';
    const [name = '', inline] = word.split('=', 2);
    if (format?.options.includes(name) === true) {
      const value = inline ?? given[++at];
      if (value !== format.value) return null;
    } else if (!(at === 0 && commands.includes(word)) && !flags.includes(word)) kept.push(word);
  }
  return kept;
}

/** Whether arguments of the user decide what the agent may do without asking. */
export function decidesPermissions({ call }: Agent, flags: readonly string[]): boolean {
  return call !== null && flags.some((flag) => call.permissions.test(flag));
}
