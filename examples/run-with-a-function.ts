import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runLoop, type AgentContext, type AgentResult } from 'ralph-until-done';

async function agent({ prompt, iteration, workspace, report }: AgentContext): Promise<AgentResult> {
  if (iteration === 1) throw new Error('simulated failure'); // fails the run; the loop starts the next iteration
  report({ type: 'tool.start', id: '1', name: 'Write', input: 'greeting.txt' });
  writeFileSync(join(workspace, 'greeting.txt'), prompt.includes('hello') ? 'hello\n' : '');
  report({ type: 'tool.end', id: '1' });
  return { text: 'Written.\n<promise>DONE</promise>', costUsd: 0.01, tokens: { input: 900, output: 20 } };
}

const { iterations, totalCost, success } = await runLoop({
  prompt: 'Write "hello" into greeting.txt.',
  agent,
  checks: [{ command: 'grep -x hello greeting.txt', hint: 'One word, in lower case.' }],
  maxCost: 1,
});
for (const { iteration, error, stepsTaken } of iterations)
  console.log(`${iteration}: ${error ?? `${stepsTaken} step`}`);
console.log(success ? `done for $${totalCost}` : 'not done');
