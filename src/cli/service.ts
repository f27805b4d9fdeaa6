import { homedir } from 'node:os';
import { daemonJob, vanishing, type Job } from '../service/job.ts';
import { launchd } from '../service/launchd.ts';
import { enableLingering, inspect, install, uninstall, type Manager } from '../service/service.ts';
import { systemd } from '../service/systemd.ts';
import { print, warn } from './print.ts';
import { visible, homely } from '../text/one-line.ts';

/** `ralph service install`: lets the system keep a daemon running, also after a reboot. */
export async function installService(): Promise<number> {
  const manager = here();
  const { file, toType } = await install(manager, process.env);
  print(`${file === 'unchanged' ? 'already installed' : 'installed'}: ${shown(manager.file)}\n`);
  if (toType.length === 0) print('the daemon is running, and starts again after a crash or a reboot\n');
  else
    print(
      `${manager.title} does not answer here; start the service from a login session with:\n${lines(toType)}`,
    );
  await hintAtLingering(manager);
  warnOfVanishing(manager.job);
  return 0;
}

/** `ralph service uninstall`: stops the daemon that the system keeps running. Loops stay as they are. */
export async function uninstallService(): Promise<number> {
  const manager = here();
  const { file, toType } = await uninstall(manager, process.env);
  if (file === 'missing') {
    print('the service is not installed\n');
    return 0;
  }
  print(`removed ${shown(manager.file)}\n`);
  if (toType.length > 0)
    print(`${manager.title} does not answer here; let it know from a login session with:\n${lines(toType)}`);
  print('agents keep working; the next ralph command starts a daemon for loops in the background\n');
  return 0;
}

/** `ralph service status`: exits 0 if the service runs, else 1. */
export async function serviceStatus(): Promise<number> {
  const manager = here();
  const { isInstalled, isCurrent, isRunning } = await inspect(manager, process.env);
  if (!isInstalled) {
    print('the service is not installed; install it with: ralph service install\n');
    return 1;
  }
  const state =
    isRunning === null
      ? `installed, but ${manager.title} does not answer here`
      : isRunning
        ? 'running'
        : 'not running';
  print(`${state}: ${shown(manager.file)}\n`);
  if (!isCurrent)
    warn(
      'note: the service was installed by another ralph, with another node or with other settings; to use those of this command: ralph service install\n',
    );
  await hintAtLingering(manager);
  warnOfVanishing(manager.job);
  return isRunning === true ? 0 : 1;
}

function here(): Manager {
  const job = daemonJob(process.env);
  return process.platform === 'darwin' ? launchd(job, homedir()) : systemd(job, process.env, homedir());
}

async function hintAtLingering(manager: Manager): Promise<void> {
  const command = await enableLingering(manager, process.env);
  if (command !== null)
    warn(
      `note: the service runs only while you are logged in; to start it at boot and keep it after logout: ${command}\n`,
    );
}

function warnOfVanishing({ argv: [node, main = ''] }: Job): void {
  const path = vanishing([node, main]);
  if (path !== null)
    warn(
      `ralph: warning: ${shown(path)} is in a cache or a temporary folder, and the service fails once it is deleted; install ralph permanently, then repeat: ralph service install\n`,
    );
}

function lines(commands: readonly string[]): string {
  return commands.map((command) => `  ${visible(command)}\n`).join('');
}

function shown(path: string): string {
  return visible(homely(path, process.env['HOME']));
}
