import { describe, expect, it } from 'vitest';
import { bubblewrapCommand } from './bubblewrap.ts';
import { sandboxEnvironment, socketsIn } from './environment.ts';
import { placesOf, sees, type View } from './sandbox.ts';
import { seatbeltProfile } from './seatbelt.ts';

const view = (change: Partial<View>): View => ({
  write: ['/w'],
  keep: [],
  temporary: ['/tmp'],
  hide: [],
  visible: [],
  given: { write: [], hide: [] },
  ...change,
});
const shown = (change: Partial<View>): readonly string[] =>
  placesOf(view(change)).map(({ path, is }) => `${is} ${path}`);

describe('the places of a sandbox', () => {
  it('are ordered from the outside to the inside', () => {
    expect(shown({ write: ['/tmp/a/w', '/w'], hide: ['/home/u/.ssh'] })).toEqual([
      'private /tmp',
      'writable /w',
      'hidden /home/u/.ssh',
      'writable /tmp/a/w',
    ]);
  });

  it('have the strongest of several meanings', () => {
    const both = { write: ['/w', '/x'], keep: ['/x'] };
    expect(shown(both)).toContain('read-only /x');
    expect(shown({ ...both, given: { write: ['/x'], hide: [] } })).toContain('writable /x');
    expect(shown({ ...both, given: { write: ['/x'], hide: ['/x'] } })).toContain('hidden /x');
    expect(shown({ given: { write: ['/tmp'], hide: [] } })).toContain('writable /tmp');
    expect(shown({ hide: ['/home/u/.ssh'], given: { write: ['/home/u/.ssh'], hide: [] } })).toContain(
      'writable /home/u/.ssh',
    );
  });

  it('include every folder around something read-only, which could otherwise be renamed and made anew', () => {
    expect(shown({ keep: ['/w/.git/hooks', '/w/a/b/settings.json', '/w/.mcp.json'] })).toEqual([
      'private /tmp',
      'writable /w',
      'writable /w/.git',
      'read-only /w/.mcp.json',
      'writable /w/a',
      'read-only /w/.git/hooks',
      'writable /w/a/b',
      'read-only /w/a/b/settings.json',
    ]);
  });

  it('say what a program can see', () => {
    const places = placesOf(view({ write: ['/tmp/a/w'], hide: ['/home/u/.ssh'], visible: ['/tmp/v'] }));
    const paths = [
      '/usr/bin/node',
      '/tmp/x',
      '/tmp/a',
      '/tmp/a/w/x',
      '/home/u/.ssh/id',
      '/home/u/.sshx',
      '/tmp/v/x',
    ];
    expect(paths.filter((path) => sees(places, path))).toEqual([
      '/usr/bin/node',
      '/tmp/a/w/x',
      '/home/u/.sshx',
      '/tmp/v/x',
    ]);
  });
});

describe('the command line of bubblewrap', () => {
  const command = (change: object = {}): string =>
    bubblewrapCommand({
      program: '/usr/bin/bwrap',
      unshareUser: false,
      isRoot: false,
      places: [
        { path: '/tmp', is: 'private' },
        { path: '/w', is: 'writable' },
        { path: '/w/.git/config', is: 'read-only' },
        { path: '/home/u/.netrc', is: 'hidden' },
        { path: '/home/u/.ssh', is: 'hidden' },
        { path: '/dev/kvm', is: 'writable' },
      ],
      isFolder: (path) => path.endsWith('.ssh'),
      emptyFile: '/state/empty',
      network: true,
      cwd: '/w',
      ...change,
    }).join(' ');

  it('mounts the places in their order on a read-only root', () => {
    expect(command()).toBe(
      '/usr/bin/bwrap --unshare-ipc --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind /w /w ' +
        '--ro-bind /w/.git/config /w/.git/config --ro-bind /state/empty /home/u/.netrc --tmpfs /home/u/.ssh ' +
        '--dev-bind /dev/kvm /dev/kvm --remount-ro /home/u/.ssh --chdir /w',
    );
  });

  it('has no network, a user namespace and fewer capabilities where they are asked for', () => {
    expect(command({ network: false })).toContain(' --unshare-net ');
    expect(command({ unshareUser: true })).toContain(' --unshare-user ');
    expect(command({ isRoot: true })).toContain(' --cap-drop ALL --cap-add CAP_CHOWN ');
    expect(command({ isRoot: true })).not.toContain('CAP_SYS_ADMIN');
  });

  it('never dies with its parent: the agent outlives its owner', () => {
    expect(command()).not.toContain('--die-with-parent');
  });
});

it('the profile for macOS has the same places, the last rule wins', () => {
  expect(
    seatbeltProfile(
      [
        { path: '/w', is: 'writable' },
        { path: '/w/.git/hooks', is: 'read-only' },
        { path: '/Users/u/.ssh', is: 'hidden' },
      ],
      false,
    ).split('\n'),
  ).toEqual([
    '(version 1)',
    '(allow default)',
    '(deny file-write*)',
    '(allow file-write* (subpath "/dev"))',
    '(allow file-read* file-write* (subpath "/w"))',
    '(allow file-read* (subpath "/w/.git/hooks"))',
    '(deny file-write* (subpath "/w/.git/hooks"))',
    '(deny file-read* file-write* (subpath "/Users/u/.ssh"))',
    '(deny network-outbound (path "/Users/u/.ssh"))',
    '(deny network*)',
  ]);
});

describe('the environment in a sandbox', () => {
  it('has no way to agents, sessions and containers outside, and keeps the rest', () => {
    const env = {
      PATH: '/bin',
      RALPH_RUN_ID: 'a.1.1',
      SSH_AUTH_SOCK: '/s',
      DBUS_SESSION_BUS_ADDRESS: 'unix:path=/b',
      DBUS_ANYTHING: 'x',
      TMUX: '/tmp/tmux',
      DOCKER_HOST: 'unix:///d',
      XDG_RUNTIME_DIR: '/run/user/1',
      TMPDIR: '/home/u/tmp',
    };
    expect(sandboxEnvironment(env, '/folder/requests')).toEqual({
      PATH: '/bin',
      RALPH_RUN_ID: 'a.1.1',
      TMPDIR: '/tmp',
      RALPH_SANDBOX: '/folder/requests',
    });
    expect(socketsIn(env)).toEqual(['/s', '/b', '/d']);
  });
});
