import { watchUntil } from '../process/watch.ts';
import { ask, takeAnswer, type SandboxAnswer, type SandboxRequest } from './requests.ts';

/** Asks the owner of the sandbox's loop and waits for the answer; null if there is none in time. */
export function askOwner(folder: string, request: SandboxRequest): Promise<SandboxAnswer | null> {
  const id = ask(folder, request);
  return watchUntil(folder, () => takeAnswer(folder, id), AbortSignal.timeout(TIMEOUT_MS));
}

const TIMEOUT_MS = 10_000;
