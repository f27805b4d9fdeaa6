import type { InitOptions } from './init.ts';
import type { McpOptions } from './mcp.ts';
import type { NotifyTestOptions } from './notify.ts';
import type { RunOptions } from './options.ts';
import type { Add, Call } from './program-call.ts';
import { addOptions, repeatable, WORKSPACE } from './program-options.ts';
import { TABLE } from '../settings/table.ts';
import type { TrustOptions } from './trust.ts';

const SHELLS = ['bash', 'zsh', 'fish'];
const { notify } = TABLE.notices;

/** Adds the commands that prepare a workspace and this machine. */
export function setupCommands(add: Add, { isCalled, help, done }: Call): void {
  add('init', 'write the settings of the workspace: from what it contains and what you answer')
    .option('-y, --yes', 'ask nothing; use what is found')
    .option('--advanced', 'also ask for flags, limits, a worktree and a sandbox')
    .option('--prompt', 'write a starter prompt to PROMPT.md instead (see ralph template)')
    .option('--force', 'replace existing settings (a backup is kept), or an existing PROMPT.md')
    .option(
      '--preset <name>',
      'preset to write into the settings (ralph-cli also uses the names of document 001)',
    )
    .option(...WORKSPACE)
    .action(async (options: InitOptions & { readonly prompt?: boolean }) => {
      if (options.prompt === true) {
        const { initPrompt } = await import('./prompt-template.ts');
        return done(initPrompt(options));
      }
      const { init } = await import('./init.ts');
      return done(await init(options));
    });
  add('template', 'print a starter prompt (ralph template > PROMPT.md)').action(async () => {
    const { template } = await import('./prompt-template.ts');
    done(template());
  });
  add('trust', 'trust the settings files of the workspace, as they are now')
    .option('--show', 'show what they would run, and whether they are trusted')
    .option('--revoke', 'trust them no longer')
    .option(...WORKSPACE)
    .action(async (options: TrustOptions) => {
      const { trust } = await import('./trust.ts');
      done(await trust(options));
    });
  const config = add('config', 'show the settings in effect, with the origin of each');
  if (isCalled('config')) addOptions(config, 'config', help);
  config.action(async (options: RunOptions) => {
    const { config: show } = await import('./config.ts');
    done(await show(options));
  });
  const notices = add('notify', 'check where notices of loops are sent');
  notices.helpCommand('help [command]', 'print the help of a command');
  notices
    .command('test')
    .description('send a test notice, as the settings and --notify say')
    .option('--to <name>', 'send it to this one only')
    .option(...repeatable(notify.flag, notify.says))
    .option('--trust', 'trust the settings files of the workspace as they are')
    .option(...WORKSPACE)
    .action(async (options: NotifyTestOptions) => {
      const { notifyTest } = await import('./notify.ts');
      done(await notifyTest(options));
    });
  add('mcp', 'serve loops to an MCP client over stdio: claude mcp add ralph -- ralph mcp (docs/mcp.md)')
    .option(
      '--loop <folder>',
      'act for the run of this loop: its folder in .ralph/loops (default: found by itself)',
    )
    .option(...WORKSPACE)
    .action(async (options: McpOptions) => {
      const { mcp } = await import('./mcp.ts');
      done(await mcp(options));
    });
  const shell = add('completion', 'print the script that lets a shell complete ralph').argument(
    '<shell>',
    'bash, zsh or fish',
  );
  shell.registeredArguments[0]?.choices(SHELLS);
  shell.action(async (name: string) => {
    const { completion } = await import('./completion.ts');
    done(completion(name));
  });
  add('agents', 'list the supported agents: installed version and command line')
    .option('--json', 'print JSON')
    .action(async (options: object) => {
      const { agents } = await import('./agents.ts');
      done(await agents(options));
    });
  add('doctor', 'check what loops need: agents, git, writable folders')
    .option('--json', 'print JSON')
    .action(async (options: object) => {
      const { doctor } = await import('./doctor.ts');
      done(await doctor(options));
    });
}

export function demoCommand(add: Add, { done }: Call): void {
  add('demo', 'run a demo loop in a temporary repository (takes seconds, needs no account)').action(
    async () => {
      const { demo } = await import('./demo.ts');
      done(await demo());
    },
  );
}
