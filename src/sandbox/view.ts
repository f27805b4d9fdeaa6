/**
 * Looks at the machine and describes what a loop's agent may see and change of it. Paths that do not exist are left out;
 * links are resolved, since a sandbox covers real paths.
 */
import { mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { AgentCall, OwnFiles } from '../agents/agent.ts';
import { ALL_AGENTS } from '../agents/agents.ts';
import { namesIn, realPath, isIn } from '../files/files.ts';
import { PROJECT_BUS } from '../bus/bus-file.ts';
import type { SandboxPolicy } from '../loop/policy.ts';
import { socketsIn } from './environment.ts';
import { gitPlaces } from './git-places.ts';
import type { Guarded } from './guard.ts';
import { type View } from './sandbox.ts';
import type { Environment } from '../process/process.ts';

export async function viewOf(facts: Facts): Promise<LookedAt> {
  const { tree, workspace, places, state, policy } = facts;
  const home = facts.env['HOME'] ?? homedir();
  const env = { ...facts.env, HOME: home };
  const own = (facts.call?.files ?? []).map((files) => ({ files, path: ownPath(files, env) }));
  const settingsFolders = own.flatMap(({ files, path }) =>
    files.settingsFolders.map((name) => join(path, name)),
  );
  const absolute = (path: string): string =>
    path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : resolve(tree, path);
  // A place in the workspace is writable anyway, and the agent could replace it by a link.
  const outside = policy.write.map(absolute).filter((path) => !isInAny(path, [tree, workspace]));
  const given = { write: real(outside), hide: real(policy.hide.map(absolute)) };
  const git = await gitPlaces({ command: ['git'], folder: tree, env }, given.write);
  for (const folder of [...own.map(({ path }) => path), ...settingsFolders, ...git.folders])
    makeQuietly(folder);
  const settings = [
    ...own.flatMap(({ files, path }) => files.settings.map((name) => join(path, name))),
    ...settingsFolders,
    ...PROJECT_FILES.map((name) => join(tree, name)),
    ...git.absent,
  ];
  // Where its program is not unpacked yet, each run does it for itself.
  const unpacked = own
    .filter(({ files, path }) => files.isProgram === true && isEmpty(path))
    .map(({ path }) => path);
  const system = real(TEMPORARY);
  const temporary = [...system, ...real(unpacked)];
  const write = real([
    tree,
    ...places,
    ...withoutLinks(join(workspace, '.ralph', PROJECT_BUS)),
    ...git.write,
    ...own.filter(({ files }) => files.isProgram !== true).map(({ path }) => path),
  ]);
  const visible = real([
    ...VISIBLE,
    ...[home, workspace, ...git.visible, dirname(dirname(process.execPath)), PACKAGE].filter((path) =>
      isInAny(path, system),
    ),
  ]);
  const shown = [...write, ...given.write, ...visible];
  const secret = real([...SECRETS.map((name) => join(home, name)), ...SOCKETS, ...socketsIn(env)]);
  // The rest of a temporary folder is hidden already.
  const hide = [
    ...secret.filter((path) => !isInAny(path, system) || isInAny(path, shown)),
    ...real([state, join(home, '.local', 'state', 'ralph')]),
  ];
  const writable = [...write, ...given.write];
  const made = own.flatMap(({ files, path }) => (files.made ?? []).map((name) => join(path, name)));
  const scripts = own.flatMap(({ path }) => scriptsIn(path));
  // Ralph's own folder has the settings and the workspace folders of other loops.
  const ralphs = [tree, workspace].map((folder) => join(folder, '.ralph'));
  const keep = real([...ralphs, ...settings, ...made, ...scripts, ...git.keep]).filter((path) =>
    isInAny(path, writable),
  );
  // What the agent cannot make is the user's: a file that a configuration in the home includes, for example.
  const guarded = settings.filter((path) => isInAny(path, writable) || isInAny(realPath(path), writable));
  const gitFolders = git.gitFolders.filter((path) => isInAny(path, writable));
  const configurations = new Set(gitFolders.map((path) => join(path, 'config')));
  const covered = keep.filter(
    (path) => !configurations.has(path) && !keep.some((other) => other !== path && isIn(path, other)),
  );
  return { view: { write, keep, temporary, hide, visible, given }, guarded, gitFolders, covered };
}

export interface LookedAt extends Guarded {
  readonly view: View;
}

export interface Facts {
  /** Where the agent works. */
  readonly tree: string;
  readonly workspace: string;
  /** Ralph's folders that are writable in it. */
  readonly places: readonly string[];
  /** Ralph's state folder. */
  readonly state: string;
  readonly env: Environment;
  /** Null for a custom command, whose own files are unknown, and for git. */
  readonly call: AgentCall | null;
  readonly policy: SandboxPolicy;
}

/** The settings of all agents, whichever works now: another one may be started here later. */
const PROJECT_FILES: readonly string[] = [
  ...new Set(ALL_AGENTS.flatMap(({ call }) => call?.projectFiles ?? [])),
  '.cursor/mcp.json',
  '.cursor/hooks.json',
  '.ralph/settings.json',
  '.ralph/settings.local.json',
];

/** The sockets of sessions and services are in `/run`, and any program may have put one into the others. */
const TEMPORARY = ['/tmp', '/var/tmp', '/run'];

/** What programs need of `/run`: name resolution, and on NixOS the programs themselves. */
const VISIBLE = [
  '/run/systemd/resolve',
  '/run/resolvconf',
  '/run/NetworkManager/resolv.conf',
  '/run/nscd',
  '/run/current-system',
  '/run/booted-system',
  '/run/opengl-driver',
];

/** Below the home. */
const SECRETS = [
  '.ssh',
  '.aws',
  '.gnupg',
  '.netrc',
  '.config/gh',
  '.azure',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.config/gcloud',
  '.config/git/credentials',
  '.config/op',
  '.config/ralph',
  '.docker/config.json',
  '.docker/run',
  '.git-credentials',
  '.kube',
  '.local/share/keyrings',
  '.password-store',
  '.pypirc',
  '.vault-token',
  '.Xauthority',
];

const SOCKETS = [
  '/run/user',
  '/var/run/docker.sock',
  '/run/docker.sock',
  '/run/podman',
  '/run/containerd',
  '/run/crio',
  '/run/dbus',
  '/var/lib/lxd/unix.socket',
  '/var/snap/lxd/common/lxd/unix.socket',
];

/** The folder that contains `dist`. */
const PACKAGE = join(import.meta.dirname, '..', '..');

function ownPath({ folder, path }: OwnFiles, env: Environment): string {
  const named = folder.variable === null ? '' : (env[folder.variable] ?? '');
  const base = isAbsolute(named) ? named : join(env['HOME'] ?? '/', folder.below);
  return path === undefined ? base : join(base, path);
}

/** The programs in a folder of an agent's: settings may name them, and their names can be any. */
function scriptsIn(folder: string): readonly string[] {
  return namesIn(folder)
    .map((name) => join(folder, name))
    .filter((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found?.isFile() === true && ((found.mode & 0o111) !== 0 || SCRIPT.test(path));
    });
}

const SCRIPT = /\.(?:sh|bash|zsh|js|cjs|mjs|ts|py|rb|pl)$/;

/** The agent would make it itself, where it could. */
function makeQuietly(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    // The agent reports what it cannot write.
  }
}

/** The real paths of those that exist. */
function real(paths: readonly string[]): readonly string[] {
  const found = paths.flatMap((path) => {
    try {
      return [realpathSync(path)];
    } catch {
      return [];
    }
  });
  return [...new Set(found)];
}

/** The path, unless a link is on the way: a repository could lead to any file with it. */
function withoutLinks(path: string): readonly string[] {
  return real([path]).filter((one) => one === path);
}

function isEmpty(folder: string): boolean {
  return isFolder(folder) && readdirSync(folder).length === 0;
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isInAny(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isIn(path, folder));
}
