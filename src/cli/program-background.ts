import type { Command } from 'commander';
import type { Add, Call, Done } from './program-call.ts';

/** Adds the commands for loops in the background. */
export function backgroundCommands(add: Add, { isCalled, done }: Call): void {
  const daemon = add('daemon', 'show, stop or run the process that owns the loops in the background');
  if (isCalled('daemon')) daemonCommands(daemon, done);
  const service = add('service', 'keep a daemon running, also after a reboot: install, uninstall, status');
  if (isCalled('service')) serviceCommands(service, done);
}

function daemonCommands(daemon: Command, done: Done): void {
  const add: Add = (name, description) => daemon.command(name).description(description);
  daemon.helpCommand('help [command]', 'print the help of a command');
  add('status', 'show whether the daemon runs, and its loops')
    .option('--json', 'print JSON')
    .action(async (options: object) => {
      const { daemonStatus } = await import('./daemon.ts');
      done(await daemonStatus(options));
    });
  add('stop', 'end the daemon; agents keep running, and the next daemon continues their loops')
    .option('--now', 'kill it, also if it does not respond')
    .action(async (options: object) => {
      const { stop } = await import('./daemon.ts');
      done(await stop(options));
    });
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

function serviceCommands(service: Command, done: Done): void {
  const add: Add = (name, description) => service.command(name).description(description);
  service.helpCommand('help [command]', 'print the help of a command');
  add(
    'install',
    'install and start a service that keeps a daemon running (systemd or launchd, for this user)',
  ).action(async () => {
    const { installService } = await import('./service.ts');
    done(await installService());
  });
  add('uninstall', 'stop and remove the service; loops stay, and their agents keep working').action(
    async () => {
      const { uninstallService } = await import('./service.ts');
      done(await uninstallService());
    },
  );
  add('status', 'show whether the service is installed and running (exit code 0 running, else 1)').action(
    async () => {
      const { serviceStatus } = await import('./service.ts');
      done(await serviceStatus());
    },
  );
}
