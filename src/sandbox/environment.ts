/** The environment of a program in a sandbox: without the variables that lead to agents, sessions and containers outside. */
import type { Environment } from '../process/process.ts';

/** `TMPDIR` is the sandbox's own folder for temporary files; `requests` is where `ralph` in the sandbox asks its owner. */
export function sandboxEnvironment(env: Environment, requests: string): Record<string, string> {
  return { ...withoutSockets(env), [SANDBOX]: requests };
}

/** The environment of a program that does not ask the owner of a loop. */
export function withoutSockets(env: Environment): Record<string, string> {
  const kept = Object.entries(env).filter(([name]) => !isUnset(name));
  return { ...Object.fromEntries(kept), TMPDIR: '/tmp' };
}

/** Set in a sandbox: the folder for requests to the loop's owner. */
const SANDBOX = 'RALPH_SANDBOX';

/** The sockets that the environment names. */
export function socketsIn(env: Environment): readonly string[] {
  return SOCKETS.flatMap((name) => {
    const [, path] = /^(?:unix:(?:path=|\/\/)?)?(\/[^,;]*)/.exec(env[name] ?? '') ?? [];
    return path === undefined ? [] : [path];
  });
}

const SOCKETS = [
  'SSH_AUTH_SOCK',
  'DBUS_SESSION_BUS_ADDRESS',
  'DBUS_SYSTEM_BUS_ADDRESS',
  'DOCKER_HOST',
  'CONTAINER_HOST',
  'XAUTHORITY',
];

function isUnset(name: string): boolean {
  return name.startsWith('DBUS_') || UNSET.has(name);
}

const UNSET = new Set([
  ...SOCKETS,
  'SSH_AGENT_PID',
  'SSH_ASKPASS',
  'GIT_ASKPASS',
  'GPG_AGENT_INFO',
  'GPG_TTY',
  'XDG_RUNTIME_DIR',
  'XDG_SESSION_ID',
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'TMUX',
  'TMUX_PANE',
  'STY',
  'TMP',
  'TEMP',
  'VSCODE_IPC_HOOK_CLI',
  'VSCODE_GIT_IPC_HANDLE',
]);
