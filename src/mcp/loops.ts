/**
 * The loops for the tools of a server.
 *
 * 1. A tool does what a person's command does, in this process, and says so in the command's words.
 * 2. What an assistant may change is what the settings allow, read for every call.
 */
import { askedLoops } from '../loops/asked-loops.ts';
import { localLoops } from '../loops/local-loops.ts';
import type { LocalLoops, LoopRef, Loops } from '../loops/loops.ts';
import type { OwnLoop } from '../loops/own-loop.ts';
import { assistantRights, type Verb } from '../loops/rights.ts';
import type { McpChange } from '../settings/settings.ts';
import { requireAllowed } from './allowed.ts';

/** The verbs that tools use. */
export type ToolLoops = Loops & Pick<LocalLoops, 'start'>;

export function loopsFor(own: OwnLoop | null): ToolLoops {
  const requests = own?.requests ?? null;
  return requests === null ? loopsHere() : askedLoops(requests);
}

/** Those of this machine. */
export function loopsHere(): LocalLoops {
  const rights = assistantRights(requireChange);
  return localLoops({ rights, as: (verb, name) => `${isChange(verb) ? TOOLS[verb] : verb} ${name}` });
}

/** The tools that change loops, by the change that the settings have to allow. */
const TOOLS: Readonly<Record<McpChange, string>> = {
  start: 'start_loop',
  pause: 'pause_loop',
  resume: 'resume_loop',
  stop: 'stop_loop',
  tell: 'tell_loop',
  answer: 'answer_question',
};

function isChange(verb: Verb): verb is Verb & McpChange {
  return Object.hasOwn(TOOLS, verb);
}

/** Throws unless the settings of a workspace allow a change. */
export function requireChange(change: McpChange, workspace: string): Promise<void> {
  return requireAllowed(TOOLS[change], change, workspace);
}

/** The loop that a change is for. Where there is none, it still has to be allowed. */
export async function findToChange(
  loops: Loops,
  change: McpChange,
  name: string,
  folder: string,
): Promise<LoopRef> {
  try {
    return await loops.find(name, folder);
  } catch (error) {
    await requireChange(change, folder);
    throw error;
  }
}
