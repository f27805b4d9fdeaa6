/**
 * The daemon as a unit of the user's systemd.
 *
 * 1. systemd signals only the daemon (`KillMode=process`): agents survive when the unit is stopped or restarted.
 * 2. A word of the command and a value of the environment reach the daemon unchanged, whatever characters they have.
 */
import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { MARK, type Argv, type Job, type Manager } from './service.ts';

const UNIT = 'ralph.service';

/** `home` is the user's home folder. */
export function systemd(job: Job, env: NodeJS.ProcessEnv, home: string): Manager {
  const configured = env['XDG_CONFIG_HOME'] ?? '';
  const folder = join(isAbsolute(configured) ? configured : join(home, '.config'), 'systemd', 'user');
  const load = systemctl('daemon-reload');
  const user = userName();
  return {
    title: 'systemd',
    job,
    file: join(folder, UNIT),
    text: unitText(job),
    link: join(folder, 'default.target.wants', UNIT),
    isReachable: systemctl('show', '--property=Version'),
    isKnown: systemctl('cat', UNIT),
    isRunning: systemctl('is-active', '--quiet', UNIT),
    whichFile: systemctl('show', '--property=FragmentPath', '--value', UNIT),
    former: null,
    start: [load, systemctl('enable', '--now', UNIT)],
    stop: [systemctl('disable', '--now', UNIT)],
    forget: [load],
    lingering: {
      ask: ['loginctl', 'show-user', user, '--property=Linger', '--value'],
      enable: ['loginctl', 'enable-linger', user],
    },
  };
}

const systemctl = (...args: readonly string[]): Argv => ['systemctl', '--user', ...args];

/** The numeric id does as well, for a user that the system has no name for. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? '');
  }
}

/** The text of the unit. */
export function unitText({ argv, env }: Job): string {
  const variables = Object.entries(env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`);
  return `# ${MARK}
# Installing again replaces this file. For changes of your own use: systemctl --user edit ${UNIT}

[Unit]
Description=Ralph: loops in the background
# Try again for as long as it takes.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${commandLine(argv)}
${variables.join('\n')}
# Agents outlive the daemon; the next one finds them again.
KillMode=process
Restart=on-failure
RestartSec=10
# The agents of all loops belong to this unit. The daemon must survive one that takes all memory.
OOMPolicy=continue
TasksMax=infinity

[Install]
WantedBy=default.target
`;
}

function commandLine(argv: Job['argv']): string {
  const [program, ...args] = argv;
  // systemd refuses to start a program with such a character in its path, but a shell does not.
  if (/["'\\\p{Cc}]/u.test(program)) return commandLine(['/bin/sh', '-c', 'exec "$0" "$@"', ...argv]);
  // Variables are replaced in the arguments and not in the program's path.
  return [quoted(program), ...args.map((word) => quoted(word).replaceAll('$', '$$$$'))].join(' ');
}

/** A word in the syntax of unit files: with C's escapes in quotes, and `%` doubled, which begins a specifier. */
function quoted(word: string): string {
  const escaped = word
    .replaceAll(/["\\]/g, String.raw`\$&`)
    .replaceAll('%', '%%')
    .replaceAll(/\p{Cc}/gu, (character) =>
      [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
    );
  return `"${escaped}"`;
}
