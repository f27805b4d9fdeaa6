import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { openSessionPlace } from '../../../test/rig/session-place.ts';

const HOOK = fileURLToPath(new URL('../../../dist/hook.js', import.meta.url));

it('S5.40 keeps a program alive that has nothing else to do until the prompt is injected', async () => {
  const { root, workspace } = openSessionPlace();
  const program = join(root, 'program.mjs');
  writeFileSync(
    program,
    `import { createRalphLoopHook } from ${JSON.stringify(HOOK)};
const hook = createRalphLoopHook({
  injectPrompt: async (_session, prompt) => console.log(prompt.split('\\n')[0]),
});
hook.startLoop('s1', 'Fix it');
await hook.handler({ event: 'session.idle', sessionId: 's1' });
`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [program], { cwd: workspace });
  expect(stdout).toBe('[RALPH LOOP - ITERATION 2/100]\n');
});
