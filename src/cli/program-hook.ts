import type { Command } from 'commander';
import type { HookInstallOptions } from './hook-install.ts';
import type { Add, Call, Done } from './program-call.ts';
import { WORKSPACE } from './program-options.ts';

/** Adds `ralph hook`. */
export function hookCommands(add: Add, { isCalled, done }: Call): void {
  const hook = add('hook', 'add /ralph to Claude Code, Codex or opencode, for loops inside a session');
  if (isCalled('hook')) subcommands(hook, done);
}

function subcommands(hook: Command, done: Done): void {
  const add: Add = (name, description) => hook.command(name).description(description);
  hook.addHelpText('after', HELP);
  hook.helpCommand('help [command]', 'print the help of a command');
  for (const name of ['install', 'uninstall'] as const)
    add(name, INSTALLS[name])
      .argument('<claude|codex|opencode>')
      .option('--user', 'for all projects of this user (default)')
      .option('--project', 'for this project only')
      .option('--dry-run', 'show what would change, and change nothing')
      .option('--json', 'print JSON')
      .option(...WORKSPACE)
      .action(async (program: string, options: HookInstallOptions) => {
        const { installHooks, uninstallHooks } = await import('./hook-install.ts');
        done(await (name === 'install' ? installHooks : uninstallHooks)(program, options));
      });
  hook.commandsGroup('Called by the programs, not by people:');
  for (const program of ['claude', 'codex', 'step'] as const)
    add(program, CALLED_BY[program]).action(async () => {
      const { hookCommand } = await import('./hook.ts');
      done(await hookCommand(program));
    });
}

const INSTALLS = {
  install: 'add /ralph, /ralph-status and /cancel-ralph to a program (in Codex: $ralph, …)',
  uninstall: 'remove what install has added; the rest of the settings stays as it is',
} as const;

const HELP = `
A session with a loop continues until the agent says that it is done and your
checks pass.

Examples:
  ralph hook install claude            for all projects
  ralph hook install codex --project   for this project only
  ralph hook install opencode --dry-run

Then, in a session:
  /ralph "make the tests pass" --check "npm test" --max-iterations=20

More: docs/in-session.md`;

const CALLED_BY = {
  claude: 'answer a hook of Claude Code, with its JSON on stdin',
  codex: 'answer a hook of Codex, with its JSON on stdin',
  step: 'take one step of a session for a plugin, as JSON on stdin',
} as const;
