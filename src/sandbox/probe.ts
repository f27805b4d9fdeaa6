/** Tries the sandbox of this system, and says what to do if it does not work. */
import { isIn } from '../files/files.ts';
import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { exec } from '../process/exec.ts';
import type { Environment } from '../process/process.ts';

export type Probe =
  | {
      readonly works: true;
      readonly kind: 'bubblewrap';
      readonly program: string;
      readonly unshareUser: boolean;
    }
  | { readonly works: true; readonly kind: 'seatbelt' }
  | { readonly works: false; readonly why: string; readonly remedy: string };

/** The same answer for the whole life of this process; `workspace` is where nothing is trusted. */
export function probeSandbox(env: Environment, workspace: string): Promise<Probe> {
  known ??= process.platform === 'linux' ? tryBubblewrap(env, workspace) : Promise.resolve(otherSystem());
  return known;
}

let known: Promise<Probe> | null = null;

async function tryBubblewrap(env: Environment, workspace: string): Promise<Probe> {
  const program = findBubblewrap(env['PATH'] ?? '', workspace);
  if (program === null) return { works: false, why: 'bubblewrap (bwrap) is not installed', remedy: INSTALL };
  const root = await attempt(program, [], env);
  if (root === null) return { works: true, kind: 'bubblewrap', program, unshareUser: false };
  // Root in a container may not make namespaces, unless in a user namespace of its own.
  const user = process.getuid?.() === 0 ? await attempt(program, ['--unshare-user'], env) : root;
  if (user === null) return { works: true, kind: 'bubblewrap', program, unshareUser: true };
  return { works: false, why: `${program} cannot make a sandbox here: ${root}`, remedy: remedyFor() };
}

const INSTALL =
  'install it: apt install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora), pacman -S bubblewrap (Arch), apk add bubblewrap (Alpine)';

/** Null if it works, else what bubblewrap says. */
async function attempt(
  program: string,
  options: readonly string[],
  env: Environment,
): Promise<string | null> {
  const mounts = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'];
  const argv = [
    ...options,
    '--unshare-pid',
    '--unshare-ipc',
    '--as-pid-1',
    ...mounts,
    '--',
    '/bin/sh',
    '-c',
    ':',
  ];
  const answer = await exec([program, ...argv], { cwd: '/', env, timeoutMs: 10_000 });
  if (answer === null) return 'it cannot be started';
  if (answer.code === 0) return null;
  const said =
    answer.stderr
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^bwrap: /, '') ?? '';
  return said === '' ? `exit code ${answer.code ?? 'unknown'}` : said;
}

/** Never from the workspace, where the agent could have put it. */
function findBubblewrap(path: string, workspace: string): string | null {
  const folders = path.split(':').filter((folder) => isAbsolute(folder) && !isIn(folder, workspace));
  const candidates = [...SYSTEM_FOLDERS, ...folders].map((folder) => join(folder, 'bwrap'));
  return candidates.find((candidate) => existsSync(candidate)) ?? null;
}

const SYSTEM_FOLDERS = ['/usr/bin', '/usr/local/bin', '/bin', '/run/current-system/sw/bin'];

function remedyFor(): string {
  if (setting('kernel/apparmor_restrict_unprivileged_userns') === '1')
    return 'AppArmor restricts user namespaces here (Ubuntu 24.04 and later): load the profile of bwrap (apt install apparmor-profiles; apparmor_parser -r /usr/share/apparmor/extra-profiles/bwrap-userns-restrict), or allow them: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0';
  if (setting('kernel/unprivileged_userns_clone') === '0')
    return 'user namespaces are switched off; allow them: sysctl -w kernel.unprivileged_userns_clone=1';
  if (setting('user/max_user_namespaces') === '0')
    return 'user namespaces are switched off; allow them: sysctl -w user.max_user_namespaces=15000';
  return 'allow it to make namespaces (in a container: run it with --security-opt seccomp=unconfined, or use the container as the sandbox and run without --sandbox)';
}

function setting(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name}`, 'utf8').trim();
  } catch {
    return null;
  }
}

function otherSystem(): Probe {
  return process.platform === 'darwin' && existsSync('/usr/bin/sandbox-exec')
    ? { works: true, kind: 'seatbelt' }
    : {
        works: false,
        why: `there is no sandbox for ${process.platform}`,
        remedy: 'run without --sandbox, for example in a container',
      };
}
