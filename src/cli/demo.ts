import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLoop } from '../owner/create-loop.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { runGit } from '../scm/git.ts';
import { resolvePolicy } from '../loop/validate.ts';
import { UserError } from '../user-error.ts';
import { paint } from './console.ts';
import { drive } from './drive.ts';
import { warn } from './print.ts';

const CHECK = 'grep -qx "hello world" greeting.txt';

/** `ralph demo`: a whole loop in a throwaway repository, through the very same engine as any other. */
export async function demo(): Promise<number> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-demo-')));
  // The loops of a demonstration do not belong among the user's own.
  process.env['XDG_STATE_HOME'] = join(folder, 'state');
  const workspace = join(folder, 'project');
  try {
    say('A throwaway repository, a file with a typo, a check that fails, and an agent that is a script:');
    say('it claims to be done too early, meets a usage limit, and then does the work. No model, no account.');
    say('');
    say(paint('bold', `$ ralph run "Fix the typo in greeting.txt" --check '${CHECK}' -- scripted-agent`));
    await runGit(folder, ['init', '--quiet', workspace]);
    writeFileSync(join(workspace, 'greeting.txt'), 'hello wrold\n');
    const resolution = resolvePolicy({
      preset: 'default',
      checks: { commands: [{ command: CHECK, action: 'APPEND', hint: null }] },
      limits: { iterations: 5 },
    });
    if (!resolution.ok) throw new Error('the demonstration has a bad policy');
    const agent = fileURLToPath(new URL('./demo-agent.js', import.meta.url));
    const loop = await createLoop({
      workspace,
      name: 'demo',
      policy: resolution.policy,
      agent: { kind: 'scripted', argv: [process.execPath, agent] },
      prompt: { text: 'Fix the typo in greeting.txt.' },
      env: startersEnvironment(process.env),
      fresh: false,
      parent: null,
    });
    const code = await drive(loop, {});
    say('');
    if (code !== 0) throw new UserError('the demonstration did not end as it should', code);
    say('That was the engine you will use. With a real agent, in your own repository:');
    say('');
    say(paint('bold', '  ralph run "fix the failing tests" --check "npm test" --agent claude'));
    say(paint('bold', '  ralph run -f PROMPT.md --check "cargo test" --agent codex'));
    say('');
    say(
      'ralph agents lists those that it knows; any other command that reads its prompt from the standard input',
    );
    say('will do, behind --. ralph --help shows the rest.');
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function say(text: string): void {
  warn(`${text}\n`);
}
