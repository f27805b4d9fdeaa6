/**
 * The programs that some tests need besides Node.js, npm, git and the tools of POSIX. A test or a group says so with a tag,
 * `{ tags: ['tmux'] }`, and a file with a comment, `@module-tag tmux`.
 *
 * 1. Each program is tried once per run, as the tests use it: it can be installed and not work, as bubblewrap in many containers.
 * 2. The tests of a program that does not work here are skipped, and the run ends with a line for it (`needs-reporter.ts`).
 * 3. With `RALPH_TEST_ALL=1` such a program fails the run before its first test.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { TestTagDefinition } from 'vitest/config';

export interface Need {
  /** The name of the tag. */
  readonly name: string;
  /** Why it does not work here; null if it does. */
  readonly trial: () => string | null;
  /** The package that has it in Debian and Ubuntu. */
  readonly apt: string;
  /** The formula of Homebrew; null if there is none. */
  readonly brew: string | null;
  /** What to do if it is installed and does not work; by default to install it again. */
  readonly allow?: string;
}

const NAMESPACES = 'allow user namespaces, ralph doctor says how';

export const NEEDS: readonly Need[] = [
  { name: 'bash', trial: () => attempt('bash', '-c', ':'), apt: 'bash', brew: 'bash' },
  { name: 'bwrap', trial: tryBubblewrap, apt: 'bubblewrap', brew: null, allow: NAMESPACES },
  {
    name: 'chromium',
    trial: () => attempt('/usr/bin/chromium', '--version'),
    apt: 'chromium',
    brew: null,
  },
  { name: 'fish', trial: () => attempt('fish', '--no-config', '-c', ':'), apt: 'fish', brew: 'fish' },
  {
    name: 'flock',
    trial: () => attempt('flock', '-s', process.execPath, 'true'),
    apt: 'util-linux',
    brew: 'flock',
  },
  {
    name: 'ps',
    trial: () => attempt('ps', '-o', 'pgid=', '-p', String(process.pid)),
    apt: 'procps',
    brew: null,
  },
  // That of util-linux, which runs a command in a terminal; others have other options.
  {
    name: 'script',
    trial: () => attempt('script', '--quiet', '--return', '--command', 'true', '/dev/null'),
    apt: 'bsdutils',
    brew: null,
  },
  {
    name: 'setpriv',
    trial: () => attempt('setpriv', '--no-new-privs', 'true'),
    apt: 'util-linux',
    brew: null,
  },
  { name: 'setsid', trial: () => attempt('setsid', 'true'), apt: 'util-linux', brew: 'util-linux' },
  {
    name: 'systemd-analyze',
    trial: () => attempt('systemd-analyze', '--version'),
    apt: 'systemd',
    brew: null,
  },
  { name: 'tmux', trial: tryTmux, apt: 'tmux', brew: 'tmux' },
  { name: 'zsh', trial: () => attempt('zsh', '-f', '-c', ':'), apt: 'zsh', brew: null },
  { name: 'unshare', trial: tryMounts, apt: 'util-linux', brew: null, allow: NAMESPACES },
];

/** The tags for Vitest. Those of programs that do not work here skip their tests, and say why and what to do. */
export function tagsOfNeeds(): TestTagDefinition[] {
  return NEEDS.map((need) => {
    const why = need.trial();
    return why === null
      ? { name: need.name, description: 'works here' }
      : { name: need.name, description: `${why}: ${remedyOf(need, why)}`, skip: true };
  });
}

/** The tags of the programs that do not work here. */
export function missingOf(tags: readonly TestTagDefinition[]): readonly TestTagDefinition[] {
  return tags.filter(({ skip }) => skip === true);
}

/** Global set-up of Vitest. */
export function setup({ config }: TestProject): void {
  if (process.env['RALPH_TEST_ALL'] !== '1') return;
  const missing = missingOf(config.tags).map(({ name, description = '' }) => `  ${name}: ${description}`);
  if (missing.length > 0)
    throw new Error(
      `RALPH_TEST_ALL=1 runs every test, and these programs are missing:\n${missing.join('\n')}`,
    );
}

function remedyOf({ apt, brew, allow }: Need, why: string): string {
  if (why !== NOT_INSTALLED && allow !== undefined) return allow;
  if (process.platform === 'darwin')
    return brew === null ? 'there is none for macOS' : `brew install ${brew}`;
  return `${process.getuid?.() === 0 ? '' : 'sudo '}apt-get install ${apt}`;
}

/** A sandbox of the kind that Ralph starts, with a file in the place of one of the kernel. */
function tryBubblewrap(): string | null {
  const namespaces = ['--unshare-pid', '--unshare-ipc', '--as-pid-1', '--new-session'];
  const mounts = ['--dev-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'];
  const file = ['--ro-bind', '/dev/null', '/proc/sys/kernel/random/boot_id'];
  return attempt('bwrap', ...namespaces, ...mounts, ...file, '--', '/bin/sh', '-c', ':');
}

/** A server of its own. */
function tryTmux(): string | null {
  return inFolder((folder) => {
    const server = ['-f', '/dev/null', '-S', join(folder, 'server')];
    const why = attempt('tmux', ...server, 'new-session', '-d', 'exec sleep 60');
    if (why === null) attempt('tmux', ...server, 'kill-server');
    return why;
  });
}

/** A small file system and a second place for a folder, in namespaces that a user may make. */
function tryMounts(): string | null {
  return inFolder((folder) => {
    const mounts = 'mount -t tmpfs -o size=64k none "$0" && mount --bind "$0" "$0"';
    return attempt('unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', mounts, folder);
  });
}

const NOT_INSTALLED = 'not installed';

/** Null if the program ends with 0. */
function attempt(program: string, ...args: readonly string[]): string | null {
  const { error, status, signal, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    // Not inside the terminal multiplexer or the language of the person who runs the tests.
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 10_000,
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return NOT_INSTALLED;
  if (status === 0) return null;
  const said = stderr?.trim().split('\n').at(-1) ?? '';
  return `does not work here, ${said === '' ? (error?.message ?? signal ?? `exit code ${status ?? ''}`) : said}`;
}

function inFolder<Result>(work: (folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-needs-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
