import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentNamed } from '../agents/agents.ts';
import { moveNewAside, noteGuarded } from './guard.ts';
import { onDisk } from '../../test/rig/temporary-folder.ts';
import { viewOf } from './view.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(onDisk(), 'ralph-view-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const path = (name: string): string => join(root, name);
const write = (name: string, text = ''): string => {
  mkdirSync(dirname(path(name)), { recursive: true });
  writeFileSync(path(name), text);
  return path(name);
};
const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: path('w'), env: ENV, encoding: 'utf8' });
const ENV = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 't',
  GIT_AUTHOR_EMAIL: 't@t',
  GIT_COMMITTER_NAME: 't',
  GIT_COMMITTER_EMAIL: 't@t',
};
const view = async (
  change: {
    env?: Record<string, string>;
    write?: string[];
    hide?: string[];
    tree?: string;
    agent?: string;
  } = {},
) => {
  const tree = change.tree ?? path('w');
  return viewOf({
    tree,
    workspace: path('w'),
    places: [path('w/.ralph/loops/a'), path('w/.ralph/loops/a/requests')],
    state: path('state'),
    env: { ...ENV, HOME: path('home'), ...change.env },
    call: agentNamed(change.agent ?? 'claude').call,
    policy: { checks: false, write: change.write ?? [], hide: change.hide ?? [], network: true },
  });
};
const inRoot = (paths: readonly string[]): readonly string[] =>
  paths.filter((one) => one.startsWith(root)).map((one) => one.slice(root.length + 1));

describe('what the agent of a loop may see and change', () => {
  beforeEach(() => {
    mkdirSync(path('w/.ralph/loops/a/requests'), { recursive: true });
    mkdirSync(path('home'));
    git('init', '--quiet');
  });

  it('is the workspace, its own files and what the user adds, with links resolved and missing paths left out', async () => {
    write('home/.ssh/id');
    write('home/.netrc');
    write('home/.claude/settings.json');
    write('elsewhere/.mcp.json');
    symlinkSync(path('elsewhere/.mcp.json'), path('w/.mcp.json'));
    mkdirSync(path('state'));
    mkdirSync(path('cache'));
    symlinkSync(path('cache'), path('home/.npm'));
    const { view: found } = await view({ write: ['~/.npm', '~/.missing'], hide: ['.ralph', '/missing'] });
    expect(inRoot(found.write)).toEqual([
      'w',
      'w/.ralph/loops/a',
      'w/.ralph/loops/a/requests',
      'w/.git',
      'home/.claude',
    ]);
    expect(inRoot(found.given.write)).toEqual(['cache']);
    expect(inRoot(found.given.hide)).toEqual(['w/.ralph']);
    expect(inRoot(found.hide)).toEqual(['home/.ssh', 'home/.netrc', 'state']);
    expect(inRoot(found.keep)).toEqual(
      expect.arrayContaining([
        'w/.ralph',
        'home/.claude/settings.json',
        'home/.claude/plugins',
        'w/.git/hooks',
        'w/.git/config',
      ]),
    );
    // What is not writable need not be kept.
    expect(inRoot(found.keep)).not.toContain('elsewhere/.mcp.json');
  });

  it('honours the variables that name the folders of an agent', async () => {
    const { view: found } = await view({ agent: 'codex', env: { CODEX_HOME: path('codex') } });
    expect(inRoot(found.write)).toContain('codex');
    expect(existsSync(path('home/.codex'))).toBe(false);
  });

  it('includes the git folder of a worktree, and keeps hooks, configuration and pointers', async () => {
    git('commit', '--quiet', '--allow-empty', '--message', 'begin');
    git('worktree', 'add', '--quiet', path('tree'));
    git('config', 'core.hooksPath', path('tree/.husky'));
    write('tree/.husky/pre-commit');
    const { view: found } = await view({ tree: path('tree') });
    expect(inRoot(found.write)).toEqual(expect.arrayContaining(['tree', 'w/.git', 'w/.git/worktrees/tree']));
    expect(inRoot(found.write)).not.toContain('w');
    expect(inRoot(found.keep)).toEqual(
      expect.arrayContaining([
        'tree/.git',
        'tree/.husky',
        'w/.git/hooks',
        'w/.git/config',
        'w/.git/worktrees/tree/commondir',
        'w/.git/worktrees/tree/gitdir',
      ]),
    );
  });

  it('keeps the pointers of other worktrees, and guards settings that git would read if they appeared', async () => {
    git('commit', '--quiet', '--allow-empty', '--message', 'begin');
    git('worktree', 'add', '--quiet', path('tree'));
    const { view: found, guarded } = await view();
    expect(inRoot(found.keep)).toEqual(
      expect.arrayContaining(['w/.git/worktrees/tree/commondir', 'w/.git/worktrees/tree/gitdir']),
    );
    expect(inRoot(guarded)).toEqual(
      expect.arrayContaining(['w/.git/config.worktree', 'w/.git/worktrees/tree/config.worktree']),
    );
    expect(inRoot(guarded)).not.toContain('w/.git');
  });

  it('guards the place of a repository that the agent could make in the workspace', async () => {
    mkdirSync(path('w/sub'));
    expect(inRoot((await view({ tree: path('w/sub') })).guarded)).toContain('w/sub/.git');
    mkdirSync(path('plain'));
    expect(inRoot((await view({ tree: path('plain') })).guarded)).toContain('plain/.git');
  });

  it('does not follow a link in the place of the message bus', async () => {
    symlinkSync(write('home/.bashrc'), path('w/.ralph/PROJECT-MESSAGE-BUS.md'));
    expect(inRoot((await view()).view.write)).not.toContain('home/.bashrc');
  });

  it('does not include a repository that git refuses to read', async () => {
    rmSync(path('w/.git/HEAD'));
    const { view: found } = await view();
    expect(inRoot(found.write)).not.toContain('w/.git');
    expect(inRoot(found.keep)).toContain('w/.git');
  });
});

/** What is moved now. */
const movedPaths = (): readonly (string | undefined)[] =>
  moveNewAside(path('run')).map((line) => /^the agent has made ([^,]*), which/.exec(line)?.[1]);

it('settings that appear during a run are moved aside, and those from before are not', () => {
  const run = path('run');
  mkdirSync(run);
  const old = write('w/old.json', 'old');
  const paths = ['w/old.json', 'w/new.json', 'w/folder', 'w/empty', 'w/link'].map(path);
  noteGuarded(run, { guarded: paths, gitFolders: [], covered: [] });
  write('w/new.json', 'new');
  write('w/folder/hook');
  mkdirSync(path('w/empty'));
  symlinkSync('/nowhere', path('w/link'));
  expect(movedPaths()).toEqual([path('w/new.json'), path('w/folder'), path('w/link')]);
  expect(paths.filter((one) => existsSync(one))).toEqual([old, path('w/empty')]);
  expect(existsSync(join(run, 'set-aside', '2', 'hook'))).toBe(true);
  expect(moveNewAside(run)).toEqual([]);
});

it('a new link on the way to settings is moved aside, and not the file that it leads to', () => {
  const run = path('run');
  mkdirSync(run);
  const precious = write('home/.claude/settings.json', 'precious');
  mkdirSync(path('w/shared'), { recursive: true });
  mkdirSync(path('w/.codex'));
  symlinkSync('shared', path('w/.gemini'));
  const names = ['.claude/settings.json', '.claude/hooks', '.codex/config.toml', '.gemini/settings.json'];
  const paths = names.map((name) => path(`w/${name}`));
  noteGuarded(run, { guarded: paths, gitFolders: [], covered: [] });
  symlinkSync(path('home/.claude'), path('w/.claude'));
  rmSync(path('w/.codex'), { recursive: true });
  const config = write('home/.codex/config.toml', 'precious');
  symlinkSync(path('home/.codex'), path('w/.codex'));
  write('w/shared/settings.json', 'new');
  expect(movedPaths()).toEqual([paths[0], paths[2], paths[3]]);
  expect([precious, config].every((file) => existsSync(file))).toBe(true);
  const left = ['w/.claude', 'w/.codex', 'w/.gemini', 'w/shared/settings.json'];
  expect(left.filter((name) => existsSync(path(name)))).toEqual(['w/.gemini']);
});
