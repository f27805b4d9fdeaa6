import { watchFolder } from '../process/watch.ts';
import { ask, takeAnswer, type SandboxAnswer, type SandboxRequest } from './requests.ts';

/** Asks the owner of the sandbox's loop and waits for the answer; null if there is none in time. */
export function askOwner(folder: string, request: SandboxRequest): Promise<SandboxAnswer | null> {
  const id = ask(folder, request);
  return new Promise((resolve) => {
    const finish = (answer: SandboxAnswer | null): void => {
      clearTimeout(timer);
      stopWatching();
      resolve(answer);
    };
    const look = (): void => {
      const answer = takeAnswer(folder, id);
      if (answer !== null) finish(answer);
    };
    const timer = setTimeout(() => finish(null), TIMEOUT_MS);
    const stopWatching = watchFolder(folder, look);
    setImmediate(look);
  });
}

const TIMEOUT_MS = 10_000;
