import type { Agent, CallForm, PromptVia } from './agent.ts';

/** How a loop's agent is called, as far as its command line goes. */
export interface Called {
  readonly argv: readonly string[];
  readonly promptVia?: PromptVia;
}

/** The whole command line of one run; `prompt` is read only where it has to be a part of it. */
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

/** How a prompt of so many bytes reaches the agent: what is too long for an argument comes by the standard input. */
export function promptWay(agent: Agent, spec: Called, bytes: number): PromptVia {
  const way = spec.promptVia ?? agent.call?.promptVia ?? 'stdin';
  return way === 'argument' && bytes > LONGEST_ARGUMENT ? 'stdin' : way;
}

/** Linux takes 128 KiB in one argument. */
const LONGEST_ARGUMENT = 100 * 1024;

/** The flags that a user gave, without what the adapter says itself; null where they want plain text and not a stream. */
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

/** Whether flags of the user's own leave an agent without the power that it has when it is called by its name. */
export function isTimid({ call }: Agent, argv: readonly string[]): boolean {
  const [first] = call?.autonomous ?? [];
  return (
    first !== undefined &&
    !argv.some((word) => /dangerously|yolo|allow|auto|permission|sandbox|approval/i.test(word))
  );
}
