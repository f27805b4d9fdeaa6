import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { changesSince } from '../git/changes.ts';
import { noteHead } from '../git/commit.ts';
import { seeTree } from '../git/seen-tree.ts';
import { recordTree } from '../git/refs.ts';
import { writeTree } from '../git/tree.ts';
import { commitWithGit, type GitCommitOrder } from './git-commit.ts';

const START = 'refs/ralph/it/start';
let at: GitFolder;
let folder: string;
let commands: number;
beforeEach(async () => {
  at = GitFolder.begun();
  folder = join(at.folder, 'notes');
  mkdirSync(folder);
  commands = 0;
  const tree = await writeTree(at.repository(), at.scratch);
  await recordTree(at.repository(), { ref: START, tree, message: 'start' });
});
afterEach(() => at.close());

/** Runs git as the task does. */
const run: GitCommitOrder['run'] = async (args, env) => {
  commands++;
  try {
    at.gitWith(env, ...args);
    return 'done';
  } catch (error) {
    return { error: String(error) };
  }
};
const commit = (order: Partial<GitCommitOrder> = {}, interrupt = new AbortController().signal) =>
  commitWithGit({
    repository: { ...at.repository(), interrupt },
    folder,
    start: START,
    message: () => 'Add b',
    changes: null,
    isMessageByAgent: false,
    run,
    ...order,
  });
/** Notes the tree that the checks saw. */
const note = async () =>
  noteHead(at.repository(), folder, { tree: await writeTree(at.repository(), at.scratch) });
const containing = (text: string): unknown => expect.stringContaining(text);
const head = () => at.git('rev-parse', 'HEAD').trim();
const subjects = () => at.git('log', '--format=%s').split('\n').slice(0, -1);
const hook = (name: string, script: string) => {
  at.write(`.git/hooks/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(at.path(`.git/hooks/${name}`), 0o755);
};

describe('a commit with git', () => {
  it.each([true, false])('keeps a commit that the user made after the checks, known=%s', async (isKnown) => {
    at.write('mine', 'old');
    at.commits();
    at.write('a', 'by the loop');
    at.write('mine', 'half');
    const { tree } = await seeTree(at.repository(), at.scratch);
    await noteHead(at.repository(), folder, { tree });
    const changes = isKnown ? await changesSince(at.repository(), { start: START, tree }) : null;
    at.write('mine', 'new');
    at.git('commit', '--quiet', '--message', 'Change mine', '--', 'mine');
    await commit({ message: () => 'Change a', changes });
    expect(at.git('show', '--format=%s', '--name-only', 'HEAD')).toBe('Change a\n\na\n');
    expect(at.git('show', 'HEAD:mine')).toBe('new');
    expect(at.status).toEqual([]);
  });

  it('of changes that were just found does not look for them again', async () => {
    at.write('b', '1');
    const tree = await writeTree(at.repository(), at.scratch);
    await noteHead(at.repository(), folder, { tree });
    const changes = await changesSince(at.repository(), { start: START, tree });
    await commit({ changes, start: 'refs/ralph/it/none' });
    expect(at.git('show', '--format=%s', '--name-only', 'HEAD')).toBe('Add b\n\nb\n');
    expect(at.status).toEqual([]);
  });

  it('contains what the checks saw', async () => {
    at.write('b', 'checked');
    await note();
    at.write('b', 'later');
    expect(await commit()).toMatchObject({ ending: 'done', made: { commit: head() }, warning: null });
    expect(at.git('show', 'HEAD:b')).toBe('checked');
  });

  it('is not made without changes or without a message', async () => {
    expect(await commit()).toEqual({ ending: 'nothing', warning: null });
    at.write('b', '1');
    expect(await commit({ message: () => null })).toEqual({
      error: 'agent did not provide a valid commit message',
    });
    expect(commands).toBe(0);
  });

  it('is found after a crash and not made twice', async () => {
    at.write('b', '1');
    await note();
    // The commit is made, but its owner never hears of it.
    await new Promise<void>((crash) => {
      const dying: GitCommitOrder['run'] = async (args, env) => {
        await run(args, env);
        crash();
        return new Promise(() => {});
      };
      void commit({ run: dying });
    });
    expect(await commit()).toMatchObject({ ending: 'done', made: { commit: head() }, warning: null });
    expect({ commands, subjects: subjects(), status: at.status }).toEqual({
      commands: 1,
      subjects: ['Add b', 'begin'],
      status: [],
    });
  });

  it('counts although the command failed after it', async () => {
    at.write('b', '1');
    const failing: GitCommitOrder['run'] = async (args, env) => {
      await run(args, env);
      return { error: 'exit code 1' };
    };
    expect(await commit({ run: failing })).toMatchObject({
      ending: 'done',
      made: { commit: head() },
      warning: null,
    });
    expect(at.status).toEqual([]);
  });

  it('that a hook refuses leaves the index as it was, and can be made later', async () => {
    at.write('b', '1');
    hook('pre-commit', 'exit 1');
    expect(await commit()).toMatchObject({ error: containing('Command failed') });
    expect(at.status).toEqual(['?? b']);
    hook('pre-commit', 'exit 0');
    expect(await commit()).toMatchObject({ ending: 'done', made: { commit: head() } });
  });

  it('that is interrupted leaves the index as it was', async () => {
    at.write('b', '1');
    await note();
    expect(await commit({ run: async () => 'interrupted' })).toBe('interrupted');
    expect(at.status).toEqual(['?? b']);
    expect(await commit({}, AbortSignal.abort())).toBe('interrupted');
    expect(subjects()).toEqual(['begin']);
  });

  it('warns of files that the agent changed after the checks', async () => {
    at.write('b', '1');
    await note();
    at.write('c', '1');
    expect(await commit({ isMessageByAgent: true })).toMatchObject({
      ending: 'done',
      warning: containing('while it wrote the commit message, and not committed: c'),
    });
    expect(at.status).toEqual(['?? c']);
  });

  it('may be one that the agent made itself', async () => {
    at.write('b', '1');
    await note();
    at.commits('by the agent');
    expect(await commit({ isMessageByAgent: true })).toMatchObject({
      ending: 'done',
      made: { commit: head() },
    });
    expect(subjects()).toEqual(['by the agent', 'begin']);
  });

  it('reports a problem with the repository', async () => {
    at.write('b', '1');
    at.git('checkout', '--quiet', '--detach');
    expect(await commit()).toMatchObject({ error: containing('detached HEAD') });
  });
});

describe.runIf(existsSync('/proc/self/fd'))('a git that is killed in the middle of a commit', () => {
  /** Kills the git while it holds its locks, and makes the attempt a minute old and the locks half of that. */
  const killsGit = (more = ''): void =>
    hook(
      'reference-transaction',
      `[ "$1" = prepared ] || exit 0\n${more}\ntouch -d '60 seconds ago' '${join(folder, 'attempted')}'\ntouch -d '30 seconds ago' .git/HEAD.lock .git/refs/heads/main.lock\nkill -9 "$PPID"`,
    );
  const locks = (): readonly string[] =>
    ['HEAD.lock', 'refs/heads/main.lock'].filter((name) => existsSync(at.path(`.git/${name}`)));

  it('leaves locks that Ralph removes and reports, so that the next commit is made', async () => {
    at.write('b', '1');
    killsGit();
    const removed = `removed ${at.path('.git/HEAD.lock')}, which the killed git left behind`;
    expect(await commit()).toEqual({ error: containing(removed) });
    expect(locks()).toEqual([]);
    hook('reference-transaction', 'exit 0');
    expect(await commit()).toMatchObject({ ending: 'done', made: { commit: head() } });
  });

  it('leaves locks that the next owner removes if its own was killed too', async () => {
    at.write('b', '1');
    killsGit();
    await new Promise<void>((crash) => {
      const dying: GitCommitOrder['run'] = async (args, env) => {
        await run(args, env);
        crash();
        return new Promise(() => {});
      };
      void commit({ run: dying });
    });
    expect(locks()).toEqual(['HEAD.lock', 'refs/heads/main.lock']);
    hook('reference-transaction', 'exit 0');
    expect(await commit()).toMatchObject({ ending: 'done', made: { commit: head() } });
    expect(subjects()).toEqual(['Add b', 'begin']);
  });

  it('leaves no lock on the index of the commit that keeps it from being made again', async () => {
    at.write('b', '1');
    hook('pre-commit', 'kill -9 "$PPID"');
    expect(await commit()).toEqual({ error: containing('Command failed') });
    hook('pre-commit', 'exit 0');
    expect(await commit()).toMatchObject({ ending: 'done', made: { commit: head() } });
  });

  const BATCH = ['git', 'cat-file', '--batch'];

  it.each([
    ['another git works in the tree', '.', BATCH],
    ['another git works in another tree', '../other', BATCH],
    ['another git works in the git folder', '.git/refs', BATCH],
    [
      'a process has the lock open',
      '.',
      ['/bin/sh', '-c', 'exec <.git/HEAD.lock; cat; echo; exec sleep 600'],
    ],
  ])('leaves its locks alone while %s', async (_, place, command) => {
    expect(await attemptBeside(place, command)).toEqual(stays());
  });

  it('leaves its locks alone while a git works in a container', { tags: ['bwrap'] }, async () => {
    const inside = join(at.folder, 'inside');
    mkdirSync(inside);
    const container = ['bwrap', '--die-with-parent', '--dev-bind', '/', '/', '--bind', at.work, inside];
    expect(await attemptBeside('.', [...container, '--chdir', inside, ...BATCH])).toEqual(stays());
  });

  const stays = (): unknown => ({
    answer: {
      error: containing(`if no git works there, remove it with: rm ${at.path('.git/HEAD.lock')}`),
    },
    left: expect.arrayContaining(['HEAD.lock']) as unknown,
  });

  /** Kills the git of a commit while a command runs in a folder. */
  async function attemptBeside(place: string, [program = '', ...args]: readonly string[]): Promise<object> {
    at.git('worktree', 'add', '--quiet', '--detach', '../other');
    at.write('b', '1');
    killsGit();
    let other: ChildProcess | null = null;
    const failing: GitCommitOrder['run'] = async (words, env) => {
      const result = await run(words, env);
      other = spawn(program, args, {
        cwd: at.path(place),
        env: at.env,
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      // Its answer says that it runs. One of them does not listen.
      other.stdin?.on('error', () => {});
      other.stdin?.write('HEAD\n');
      await new Promise((heard) => other?.stdout?.once('data', heard));
      return result === 'done' ? result : { error: `${JSON.stringify(result)}: Unable to create HEAD.lock` };
    };
    try {
      return { answer: await commit({ run: failing }), left: locks() };
    } finally {
      (other as ChildProcess | null)?.kill('SIGKILL');
    }
  }

  it('is not held responsible for a lock that was there before, which the error tells how to remove', async () => {
    at.write('b', '1');
    at.write('.git/HEAD.lock', '');
    const answer = await commit();
    const error = typeof answer === 'object' && 'error' in answer ? answer.error : '';
    const advice = /if no git works there, remove it with: (.*)$/.exec(error)?.[1] ?? '';
    expect(advice).toBe(`rm ${at.path('.git/HEAD.lock')}`);
    execFileSync('/bin/sh', ['-c', advice]);
    expect(await commit()).toMatchObject({ ending: 'done', made: { commit: head() } });
  });
});
