// Runs loops to their end, in one process. Its arguments are their workspace and how many.
import { runLoop } from '../dist/index.js';

const [workspace, count] = process.argv.slice(2);
for (let number = 1; number <= Number(count); number++)
  await runLoop({
    workspace,
    name: `loop${number}`,
    prompt: 'do it',
    agent: () => ({ text: 'still at it' }),
    maxIterations: 3,
  });
