import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RalphLoop, type AgentFactory } from 'ralph-until-done/architect';

const factory: AgentFactory = ({ agent, workspaceRoot }) => ({
  run: async (prompt) => {
    const isSecondTry = prompt.includes('## Errors from Previous Iteration');
    writeFileSync(join(workspaceRoot, 'auth.txt'), isSecondTry ? 'tested\n' : 'untested\n');
    return { text: `${agent}: COMPLETE`, costUsd: 0.02, steps: 4 };
  },
});
const config = { task: 'implement authentication', checks: ['grep -x tested auth.txt'], maxIterations: 5 };
const loop = new RalphLoop(config, factory, process.cwd(), {
  onEvent: ({ type, ...rest }) =>
    console.log(
      type,
      'status' in rest ? rest.status : 'passed' in rest ? `${rest.passed}/${rest.total}` : '',
    ),
});
const { stopReason, totalCost } = await loop.run();
await loop.cleanupProgress();
console.log(`${stopReason} for $${totalCost}`);
