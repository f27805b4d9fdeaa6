/** The command line of bubblewrap, the sandbox on Linux. `process/sandboxed.ts` adds the PID namespace. */
import { isIn } from '../files/files.ts';
import { type Place } from './sandbox.ts';

export function bubblewrapCommand(spec: BubblewrapSpec): readonly string[] {
  const { program, unshareUser, isRoot, places, isFolder, emptyFile, network, cwd } = spec;
  return [
    program,
    ...(unshareUser ? ['--unshare-user'] : []),
    '--unshare-ipc',
    ...(network ? [] : ['--unshare-net']),
    // Root keeps what programs such as npm and tar need, and loses what could undo the sandbox.
    ...(isRoot ? ['--cap-drop', 'ALL', ...ROOT_CAPABILITIES.flatMap((name) => ['--cap-add', name])] : []),
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    ...places.flatMap(({ path, is }) => {
      switch (is) {
        case 'writable':
          return [isIn(path, '/dev') ? '--dev-bind' : '--bind', path, path];
        case 'read-only':
          return ['--ro-bind', path, path];
        case 'private':
          return ['--tmpfs', path];
        case 'hidden':
          return isFolder(path) ? ['--tmpfs', path] : ['--ro-bind', emptyFile, path];
      }
    }),
    // Not before: what is visible in a hidden folder is put there in between.
    ...places.flatMap(({ path, is }) => (is === 'hidden' && isFolder(path) ? ['--remount-ro', path] : [])),
    '--chdir',
    cwd,
  ];
}

export interface BubblewrapSpec {
  /** Its path. */
  readonly program: string;
  /** Whether root needs a user namespace too, as in a container. */
  readonly unshareUser: boolean;
  readonly isRoot: boolean;
  readonly places: readonly Place[];
  readonly isFolder: (path: string) => boolean;
  /** Stands in the place of a hidden file. */
  readonly emptyFile: string;
  readonly network: boolean;
  readonly cwd: string;
}

const ROOT_CAPABILITIES = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_NET_BIND_SERVICE',
  'CAP_SETGID',
  'CAP_SETUID',
];
