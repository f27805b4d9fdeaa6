import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEMO_CHECK, ownDemo } from '../loops/demo.ts';
import { UserError } from '../user-error.ts';
import { drive } from './drive.ts';
import { warn } from './print.ts';
import { paint } from './screen.ts';

/** `ralph demo`: runs a loop with a scripted agent in a temporary repository. */
export async function demo(): Promise<number> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-demo-')));
  try {
    say('A loop in a temporary repository with a typo, and a check that finds it.');
    say('The agent is a script: it claims to be done too early, hits a usage limit,');
    say('then fixes the typo. No model, no account.');
    say('');
    say(
      paint('bold', `$ ralph run "Fix the typo in greeting.txt" --check '${DEMO_CHECK}' -- scripted-agent`),
    );
    const loop = await ownDemo(folder, fileURLToPath(new URL('./demo-agent.js', import.meta.url)));
    const code = await drive(loop, { isTemporary: true });
    say('');
    if (code !== 0) throw new UserError('the demo failed; see the messages above', code);
    say('In your own repository, with a real agent:');
    say('');
    say(paint('bold', '  ralph run "fix the failing tests" --check "npm test" --agent claude'));
    say(paint('bold', '  ralph run -f PROMPT.md --check "cargo test" --agent codex'));
    say('');
    say('Any other command that reads the prompt from stdin works too, after --.');
    say('Supported agents: ralph agents; all commands: ralph help --all');
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function say(text: string): void {
  warn(`${text}\n`);
}
