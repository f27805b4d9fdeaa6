import type { Command } from 'commander';
import type { Add, Call, Done } from './program-call.ts';
import { WORKSPACE } from './program-options.ts';

/** Adds `ralph ralph`: the subcommands of document 003's `swarm ralph`, for `alias swarm=ralph`. */
export function documentedCommands(program: Command, { isCalled, done }: Call): void {
  const ralph = program
    .command('ralph', { hidden: true })
    .description('the subcommands of `swarm ralph` in document 003, with its texts and exit codes');
  if (isCalled('ralph')) subcommands(ralph, done);
}

function subcommands(ralph: Command, done: Done): void {
  const add: Add = (name, description) => ralph.command(name).description(description);
  ralph.helpCommand('help [command]', 'print the help of a command');
  add('init', 'write a starter prompt to PROMPT.md')
    .option('--force', 'replace an existing PROMPT.md')
    .option(...WORKSPACE)
    .action(async (options: object) => {
      const { initPrompt } = await import('./prompt-template.ts');
      done(initPrompt(options));
    });
  add('template', 'print the starter prompt').action(async () => {
    const { template } = await import('./prompt-template.ts');
    done(template());
  });
  add('status <name>', 'show the state of a loop (exit code 0 for every loop that exists)')
    .option(...WORKSPACE)
    .action(async (name: string, options: object) => {
      const { workerStatusOf } = await import('./ralph.ts');
      done(await workerStatusOf(name, options));
    });
  add('pause <name>', 'pause a loop after the running iteration')
    .option(...WORKSPACE)
    .action(async (name: string, options: object) => {
      const { pauseWorker } = await import('./ralph.ts');
      done(await pauseWorker(name, options));
    });
  add('resume <name>', 'resume a loop')
    .option(...WORKSPACE)
    .action(async (name: string, options: object) => {
      const { resumeWorker } = await import('./ralph.ts');
      done(await resumeWorker(name, options));
    });
  add('list', 'list the loops with their workers')
    .option('--format <form>', 'table, json or names (default table)')
    .option('--status <status>', 'all, running, paused, stopped or failed (default all)')
    .option(...WORKSPACE)
    .action(async (options: object) => {
      const { listWorkers } = await import('./ralph.ts');
      done(await listWorkers(options));
    });
}
