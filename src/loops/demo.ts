/** The loop of `ralph demo`: an agent that is a script, and a temporary repository with a typo. */
import { runGit } from '../workspace/user-git.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { STATE } from '../home/state-folder.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { localLoops } from './local-loops.ts';

/** Finds the typo. */
export const DEMO_CHECK = 'grep -qx "hello world" greeting.txt';

/** Starts the loop in an empty folder; `agent` is a file for this Node.js. */
export async function ownDemo(folder: string, agent: string): Promise<OwnedLoop> {
  // Keeps the demo out of the user's list of loops.
  process.env[STATE] = join(folder, 'state');
  const workspace = join(folder, 'project');
  await runGit(folder, ['init', '--quiet', workspace]);
  writeFileSync(join(workspace, 'greeting.txt'), 'hello wrold\n');
  return localLoops().ownNew({
    workspace,
    name: 'demo',
    prompt: { text: 'Fix the typo in greeting.txt.' },
    files: 'ignored',
    settings: { checks: [{ command: DEMO_CHECK }], maxIterations: 5 },
    agent: { kind: 'scripted', argv: [process.execPath, agent] },
  });
}
