import { isAbsolute } from 'node:path';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { STATE, stateFolder } from '../store/state-folder.ts';

/** What the service manager of the system starts: the daemon, with this program and for this state folder. */
export interface Job {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The daemon as the calling command would start it. Agents get the environment that is kept for their loop; the daemon itself
 * needs only the programs that it uses (flock, git, tmux) and the place of the state.
 */
export function daemonJob(env: NodeJS.ProcessEnv): Job {
  const folders = (env['PATH'] ?? '').split(':').filter((folder) => isAbsolute(folder));
  const stateHome = env['XDG_STATE_HOME'] ?? '';
  const zone = env['TZ'] ?? '';
  return {
    argv: [process.execPath, MAIN, 'daemon', 'run', '--stay'],
    env: {
      PATH: [...new Set(folders)].join(':'),
      ...((env[STATE] ?? '') === '' ? {} : { [STATE]: stateFolder(env) }),
      ...(isAbsolute(stateHome) ? { XDG_STATE_HOME: stateHome } : {}),
      // For the times in its log.
      ...(zone === '' ? {} : { TZ: zone }),
    },
  };
}

const MAIN = fileURLToPath(new URL('../cli/main.js', import.meta.url));

/** The first of these files that something else will delete: it is in a cache of npx or the like, or in a temporary folder. */
export function vanishing(paths: readonly string[]): string | null {
  return (
    paths.find((path) => CACHE.test(path) || TEMPORARY.some((folder) => path.startsWith(folder))) ?? null
  );
}

/** Of npx, pnpm and yarn, bun. */
const CACHE = /\/(?:_npx|dlx|dlx-[^/]+|bunx-[^/]+)\//;
const TEMPORARY: readonly string[] = [
  `${tmpdir()}/`,
  '/tmp/',
  '/var/tmp/',
  '/private/tmp/',
  '/run/',
  '/dev/shm/',
];
