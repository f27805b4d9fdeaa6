/** `ralph` in a sandbox, where the state of all loops is hidden: the owner of the sandbox's loop answers for it. */
import { askOwner } from '../sandbox/ask-owner.ts';
import type { SandboxRequest } from '../sandbox/requests.ts';
import { print, warn } from './print.ts';

/** Runs a command that works in a sandbox, and refuses the others. `folder` is where requests go. */
export async function runInSandbox(args: readonly string[], folder: string): Promise<number> {
  // The buses lie on the desk, which is not hidden.
  if (args[0] === 'bus') return (await import('./program.ts')).runProgram(args);
  const request = requestFor(args);
  if (typeof request === 'string') {
    warn(`ralph: error: ${request}\n`);
    return 2;
  }
  const answer = await askOwner(folder, request);
  if (answer === null) {
    warn('ralph: error: the owner of this loop does not answer; it may have exited. Nothing was changed\n');
    return 1;
  }
  if (!answer.ok) {
    warn(`ralph: error: ${answer.message}\n`);
    return 2;
  }
  const isJson = args.includes('--json') && request.type === 'status';
  print(`${isJson ? JSON.stringify(answer.summary, null, 2) : answer.text}\n`);
  return 0;
}

/** The request that a command line stands for, or why there is none. */
function requestFor(args: readonly string[]): SandboxRequest | string {
  const [command = 'run', ...rest] = args;
  const words = rest.filter((word) => !word.startsWith('--'));
  const [loop = null, ...more] = words;
  if (command === 'status') return { type: 'status', loop };
  if (command === 'tell') {
    const text = more.join(' ');
    if (loop === null || text.trim() === '')
      return 'the message is empty: ralph tell NAME "words for the next prompt"';
    return { type: 'tell', loop, text };
  }
  if (STARTS.has(command) || command.startsWith('-') || /\s/.test(command))
    return 'ralph cannot start a loop inside a sandbox; only ralph status, ralph tell and ralph bus work here. Start it outside, or run this loop without --sandbox';
  return `ralph ${command} does not work inside a sandbox; only ralph status, ralph tell and ralph bus do`;
}

const STARTS = new Set(['run', 'loop', 'spawn', 'resume', 'demo']);
