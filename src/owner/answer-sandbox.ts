/** The owner's side of `ralph` in a sandbox: watches the request folder on the desk and answers. */
import { watchFolder } from '../process/watch.ts';
import { answerRequests, type SandboxAnswer, type SandboxRequest } from '../sandbox/requests.ts';

/** What a front end shows of the loop. */
export interface Described {
  readonly text: string;
  readonly summary: unknown;
}

/** Answers requests until the returned function is called. */
export function answerSandbox(folder: string, owner: SandboxOwner): () => void {
  let warnings = 0;
  const look = (): void => {
    try {
      for (const name of answerRequests(folder, (request) => answerTo(request, owner))) {
        if (warnings++ < MOST_WARNINGS)
          owner.say(
            `warning: a request from the sandbox is unreadable and was moved aside: ${name}.unreadable`,
          );
      }
    } catch {
      // The agent may change the folder meanwhile; the next look comes within a second.
    }
  };
  const stop = watchFolder(folder, look);
  look();
  return stop;
}

export interface SandboxOwner {
  /** The name of the loop. */
  readonly loop: string;
  readonly tell: (text: string) => void;
  readonly describe: () => Described;
  readonly say: (line: string) => void;
}

function answerTo(request: SandboxRequest, owner: SandboxOwner): SandboxAnswer {
  const { loop } = owner;
  if (request.loop !== null && request.loop !== loop)
    return {
      ok: false,
      message: `a sandbox has only its own loop, ${JSON.stringify(loop)}; got ${JSON.stringify(request.loop.slice(0, 100))}`,
    };
  if (request.type === 'status') return { ok: true, ...owner.describe() };
  owner.tell(request.text);
  return { ok: true, text: `delivered to ${loop}; it goes into the next prompt`, summary: null };
}

const MOST_WARNINGS = 20;
