import { setTimeout as sleep } from 'node:timers/promises';
import { createLoop } from 'ralph-until-done';

const stopping = new AbortController();
const loop = await createLoop({
  prompt: 'Count the stars.',
  agent: async ({ iteration, signal }) => {
    if (iteration === 2) stopping.abort(); // finishes the running step and starts no other
    await sleep(10, undefined, { signal }); // aborted when this run must end
    return { text: `${iteration} so far` };
  },
  signal: stopping.signal,
  restartDelay: 0,
});
const interrupt = (): void => loop.stop({ now: true }); // ends the running step, too
process.once('SIGINT', interrupt);
const { totalIterations, reason } = await loop.run();
process.off('SIGINT', interrupt);
console.log(`${totalIterations} iterations, ${reason}`);
