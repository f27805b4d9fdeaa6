import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Repository } from '../../src/git/git.ts';
import { Mould } from './mould.ts';

const ENV = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
};
const runGit = (cwd: string, ...args: readonly string[]): unknown =>
  execFileSync('git', args, { cwd, env: ENV });
const EMPTY = new Mould((folder) => runGit(folder, 'init', '--quiet', '--initial-branch=main'));
const BEGUN = new Mould((folder) => {
  EMPTY.fill(folder);
  writeFileSync(join(folder, 'a'), '1');
  runGit(folder, 'add', '--all');
  runGit(folder, 'commit', '--quiet', '--message', 'begin');
});

/** A temporary repository. */
export class GitFolder {
  readonly folder: string = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-git-')));
  readonly env: Readonly<Record<string, string>> = { ...ENV, HOME: this.folder };
  readonly work: string = join(this.folder, 'work');
  readonly scratch: string = join(this.folder, 'scratch', 'index');

  constructor(mould: Mould = EMPTY) {
    mkdirSync(this.work);
    mould.fill(this.work);
  }

  /** A repository with one commit of one file, `a`. */
  static begun(): GitFolder {
    return new GitFolder(BEGUN);
  }

  /** The `Repository` of a folder inside, by default the top. */
  repository(folder = '.'): Repository {
    return { command: ['git'], folder: join(this.work, folder), env: this.env, enclose: null };
  }

  git(...args: readonly string[]): string {
    return this.gitWith({}, ...args);
  }

  /** With additional environment variables. */
  gitWith(more: Readonly<Record<string, string>>, ...args: readonly string[]): string {
    const env = { ...this.env, ...more };
    return execFileSync('git', args, { cwd: this.work, env, encoding: 'utf8', stdio: 'pipe' });
  }

  path(name: string): string {
    return join(this.work, name);
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), text);
  }

  remove(name: string): void {
    rmSync(this.path(name), { recursive: true });
  }

  /** Commits everything. */
  commits(message = 'begin'): void {
    this.git('add', '--all');
    this.git('commit', '--quiet', '--allow-empty', '--message', message);
  }

  /** The files of a tree or commit. */
  files(what: string): readonly string[] {
    return this.git('ls-tree', '-r', '-z', '--name-only', what).split('\0').slice(0, -1);
  }

  /** As `git status` prints it: `MM a`, `?? b`. */
  get status(): readonly string[] {
    return this.git('status', '--porcelain', '-z', '--no-renames', '--untracked-files=all')
      .split('\0')
      .slice(0, -1);
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
