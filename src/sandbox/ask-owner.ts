import { watchUntil } from '../process/watch.ts';
import { ask, takeAnswer, withdraw, type SandboxAnswer } from './requests.ts';

/** Asks the owner of the sandbox's loop and waits for the answer; null if there is none in time. */
export async function askOwner(
  folder: string,
  request: object,
  timeoutMs: number,
): Promise<SandboxAnswer | null> {
  const id = ask(folder, request);
  const answer = await watchUntil(folder, () => takeAnswer(folder, id), AbortSignal.timeout(timeoutMs));
  // The next owner must not carry out what was given up.
  if (answer === null) withdraw(folder, id);
  return answer;
}
