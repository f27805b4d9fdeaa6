/** What the owner of a loop does for `ralph` in its sandbox. */
import type { SandboxFront } from '../owner/answer-sandbox.ts';
import type { SandboxedParent } from '../owner/owner.ts';
import { deliver } from '../store/deliver.ts';
import { readLoopIn } from '../store/read-loop.ts';
import { viewOf } from '../loops/view.ts';
import { untilRest } from '../loops/until-rest.ts';
import { restLine } from './rest-line.ts';
import { describedLoop } from './status.ts';

export function sandboxFront(parent: SandboxedParent): SandboxFront {
  return {
    describe: ({ path }) => describedLoop(path),
    async start(start) {
      const { startForSandbox } = await import('./start-for-sandbox.ts');
      return startForSandbox(start, parent);
    },
    async wait(folder) {
      const loop = await untilRest(folder, AbortSignal.timeout(WAIT_MS));
      if (loop === null) return { text: '', summary: null };
      return {
        text: describedLoop(folder.path).text,
        summary: { hasEnded: loop.state.outcome !== null, ...restLine(viewOf(loop)) },
      };
    },
    async stop({ path, name }, now) {
      await deliver(readLoopIn(path), { type: 'stop', now, by: 'person' });
      return {
        text: now ? `stopping ${name} now` : `stopping ${name} after the running step`,
        summary: null,
      };
    },
  };
}

/** Less than the command in the sandbox waits for the answer, after which it asks again. */
const WAIT_MS = 20_000;
