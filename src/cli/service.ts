import {
  installService as install,
  serviceNow,
  uninstallService as uninstall,
  type Service,
} from '../background/background.ts';
import { print, warn } from './print.ts';
import { visible, homely } from '../text/one-line.ts';

/** `ralph service install`: lets the system keep a daemon running, also after a reboot. */
export async function installService(): Promise<number> {
  const service = await install();
  const { title, change } = service;
  print(`${change.file === 'unchanged' ? 'already installed' : 'installed'}: ${shown(service.file)}\n`);
  if (change.toType.length === 0)
    print('the daemon is running, and starts again after a crash or a reboot\n');
  else
    print(
      `${title} does not answer here; start the service from a login session with:\n${lines(change.toType)}`,
    );
  printHints(service);
  return 0;
}

/** `ralph service uninstall`: stops the daemon that the system keeps running. Loops stay as they are. */
export async function uninstallService(): Promise<number> {
  const { title, file, change } = await uninstall();
  if (change.file === 'missing') {
    print('the service is not installed\n');
    return 0;
  }
  print(`removed ${shown(file)}\n`);
  if (change.toType.length > 0)
    print(`${title} does not answer here; let it know from a login session with:\n${lines(change.toType)}`);
  print('agents keep working; the next ralph command starts a daemon for loops in the background\n');
  return 0;
}

/** `ralph service status`: exits 0 if the service runs, else 1. */
export async function serviceStatus(): Promise<number> {
  const service = await serviceNow();
  const { isInstalled, isCurrent, isRunning, title } = service;
  if (!isInstalled) {
    print('the service is not installed; install it with: ralph service install\n');
    return 1;
  }
  const state =
    isRunning === null
      ? `installed, but ${title} does not answer here`
      : isRunning
        ? 'running'
        : 'not running';
  print(`${state}: ${shown(service.file)}\n`);
  if (!isCurrent)
    warn(
      'note: the service was installed by another ralph, with another node or with other settings; to use those of this command: ralph service install\n',
    );
  printHints(service);
  return isRunning === true ? 0 : 1;
}

function printHints({ lingering, vanishing }: Service): void {
  if (lingering !== null)
    warn(
      `note: the service runs only while you are logged in; to start it at boot and keep it after logout: ${lingering}\n`,
    );
  if (vanishing !== null)
    warn(
      `ralph: warning: ${shown(vanishing)} is in a cache or a temporary folder, and the service fails once it is deleted; install ralph permanently, then repeat: ralph service install\n`,
    );
}

function lines(commands: readonly string[]): string {
  return commands.map((command) => `  ${visible(command)}\n`).join('');
}

function shown(path: string): string {
  return visible(homely(path, process.env['HOME']));
}
