/** The commands `/ralph` and `/cancel-ralph`, and the messages that start a loop without one. */
import { parseRalphArguments, type RalphArguments } from '../arguments.ts';
import { errorText } from '../log.ts';
import { announcer, announceFailedStart } from './announce.ts';
import type { FirstMessage, RalphLoopHook, RalphLoopOptions } from './types.ts';

export interface RalphCommands {
  /** `/ralph` with everything that was written after it. Starts a loop and injects its task; false if none was started. */
  ralph(sessionId: string, text: string): Promise<boolean>;
  /** `/cancel-ralph`. */
  cancelRalph(sessionId: string): Promise<boolean>;
  /**
   * Starts a loop if a message asks for one (`/ralph …`, `/loop …`, `/autonomous …`, `ralph mode`, `ralph loop`), and returns
   * the message that the session should get in its place; null if it asks for none or no loop was started.
   */
  startFrom(sessionId: string, message: string): Promise<string | null>;
}

export function createRalphCommands(
  hook: RalphLoopHook,
  { injectPrompt, showToast = () => {}, log }: Pick<RalphLoopOptions, 'injectPrompt' | 'showToast' | 'log'>,
): RalphCommands {
  const tell = announcer(log ?? QUIET, showToast);
  const start = async (sessionId: string, text: string): Promise<FirstMessage | null> => {
    let asked: RalphArguments;
    try {
      asked = parseRalphArguments(text);
    } catch (error) {
      announceFailedStart(tell, sessionId, errorText(error));
      return null;
    }
    const { prompt, ...options } = asked;
    return hook.startLoop(sessionId, prompt, options) ? hook.loopStarted(sessionId) : null;
  };
  return {
    async ralph(sessionId, text) {
      const first = await start(sessionId, text);
      if (first === null) return false;
      await injectPrompt?.(sessionId, withContext(first));
      return true;
    },
    async cancelRalph(sessionId) {
      const isCancelled = hook.cancelLoop(sessionId);
      if (!isCancelled) {
        tell.toast({
          title: 'No Active Loop',
          message: 'No Ralph Loop is currently running',
          variant: 'info',
        });
      }
      return isCancelled;
    },
    async startFrom(sessionId, message) {
      const asked = findTrigger(message);
      const first = asked === null ? null : await start(sessionId, asked);
      return first === null ? null : withContext(first);
    },
  };
}

/**
 * What a message asks for that starts a loop, in the form of the arguments of `/ralph`; null for any other message. A command
 * counts only at the beginning; `ralph mode` and `ralph loop` count anywhere, and then the whole message is the task.
 */
function findTrigger(message: string): string | null {
  const text = message.trim();
  const command = /^\/(?:ralph|loop|autonomous)\s+/i.exec(text);
  if (command !== null) return text.slice(command[0].length);
  if (!/\bralph (?:mode|loop)\b/i.test(text)) return null;
  // In quotes, so that no part of it is taken for an option.
  return `"${text.replaceAll('"', () => String.raw`\"`)}"`;
}

/** The task of a loop after the block that tells the agent about the loop. */
function withContext({ context, prompt }: FirstMessage): string {
  return `${context}\n\n${prompt}`;
}

const QUIET = { info() {}, warn() {}, error() {} };
