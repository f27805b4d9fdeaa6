import { setTimeout as sleep } from 'node:timers/promises';
import { createLoop } from 'ralph-loop';

const stopping = new AbortController();
const loop = await createLoop({
  prompt: 'Count the stars.',
  agent: async ({ iteration, signal }) => {
    if (iteration === 2) stopping.abort(); // the running step is finished, and no other is started
    await sleep(10, undefined, { signal }); // `signal` is for this run: it must end now
    return { text: `${iteration}, and there are more` };
  },
  signal: stopping.signal,
  restartDelay: 0,
});
const interrupt = (): void => loop.stop({ now: true }); // in the middle of a step
process.once('SIGINT', interrupt);
const { totalIterations, reason } = await loop.run();
process.off('SIGINT', interrupt);
console.log(`${totalIterations} iterations, ${reason}`);
