import type { Command } from 'commander';
import type { Add, Call, Done } from './program-call.ts';

/** Adds the commands for loops in the background. */
export function backgroundCommands(add: Add, { isCalled, done }: Call): void {
  const daemon = add('daemon', 'show, stop or run the process that owns the loops in the background');
  if (isCalled('daemon')) daemonCommands(daemon, done);
}

function daemonCommands(daemon: Command, done: Done): void {
  const add: Add = (name, description) => daemon.command(name).description(description);
  daemon.helpCommand('help [command]', 'print the help of a command');
  add('status', 'show whether the daemon runs, and its loops')
    .option('--json', 'print JSON')
    .action(async (options: object) => {
      const { daemonStatus } = await import('./daemon.ts');
      done(daemonStatus(options));
    });
  add('stop', 'end the daemon; agents keep running, and the next daemon continues their loops').action(
    async () => {
      const { stop } = await import('./daemon.ts');
      done(await stop());
    },
  );
  add('logs', 'print what the daemon did')
    .option('-f, --follow', 'keep printing')
    .action(async (options: object) => {
      const { daemonLogs } = await import('./daemon.ts');
      done(await daemonLogs(options));
    });
  add('run', 'own the loops in the background; other commands start this when they need it')
    .option('--stay', 'keep running while there is nothing to do')
    .action(async (options: object) => {
      const { runDaemon } = await import('./daemon.ts');
      done(await runDaemon(options));
    });
}
