import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { execGit, gitLine, outputIn, type OneGit } from './git.ts';

let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

const line = (...commands: Parameters<typeof gitLine>) => gitLine(...commands);
/** A program in place of git. */
const program = (script: string) => {
  const path = join(at.folder, 'program');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return { ...at.repository(), command: [path, '-c', 'own=1'] as const };
};

it('a line of gits answers for each of them as a git by itself would', async () => {
  const name = 'it\'s "$HOME" `x`\\n*\n%d ü';
  const questions = [
    ['rev-parse', 'HEAD'],
    ['rev-parse', '--verify', '--quiet', 'nothing'],
    ['hash-object', name],
    ['show', '--format=%x00%B', '--name-only', '-z', 'HEAD'],
    ['ls-files', '--unknown'],
    ['hash-object', '-t', 'tree', '/dev/null'],
  ];
  at.write(name, '1');
  const answers = await line(at.repository(), (git) => questions.map((args) => git(args)));
  const alone = await Promise.all(questions.map((args) => execGit(at.repository(), args)));
  expect(answers).toEqual(
    alone.map(({ code, stdout, stderr }) => ({ code, stdout: stdout.toString('latin1'), stderr })),
  );
  expect(answers.map(({ code }) => code)).toEqual([0, 1, 0, 0, 129, 0]);
});

it('a line of gits passes variables and input on, each variable to one git only', async () => {
  const index = join(at.folder, "it's empty");
  await execGit(at.repository(), ['read-tree', '--empty'], { GIT_INDEX_FILE: index });
  const commands = (git: OneGit) => [
    `id=$(${git(['hash-object', '-w', '--stdin'])})`,
    `${git(['cat-file', 'blob'])} "$id"`,
    git(['ls-files'], { GIT_INDEX_FILE: index }),
    git(['ls-files']),
  ];
  const answers = await line(at.repository(), commands, { input: 'text ü' });
  expect(answers.map(({ stdout }) => stdout)).toEqual([
    '',
    Buffer.from('text ü').toString('latin1'),
    '',
    'a\n',
  ]);
});

it('each git of a line has the same guards as a git by itself', async () => {
  const repository = program(String.raw`printf '%s\n' "$@" "$GIT_ALLOW_PROTOCOL" "$GIT_NO_LAZY_FETCH"`);
  const alone = (await execGit(repository, ['status'])).stdout.toString();
  expect(alone).toContain('core.hooksPath=/dev/null');
  const answers = await line(repository, (git) => [git(['status']), git(['status'])]);
  expect(answers.map(({ stdout }) => stdout)).toEqual([alone, alone]);
});

it('a line of gits says which program is missing', async () => {
  const run = (name: string) => line({ ...at.repository(), command: [name] }, (git) => [git(['status'])]);
  await expect(run('no-such-git')).rejects.toThrow('no-such-git is not installed');
  await expect(run(at.path('a'))).rejects.toThrow(`cannot run ${at.path('a')}`);
  const elsewhere = { ...at.repository(), folder: at.path('none') };
  await expect(line(elsewhere, (git) => [git(['status'])])).rejects.toThrow('cannot run git in ');
});

it.runIf(existsSync('/proc/self/wchan'))(
  'a git of a line does not wait for a FIFO that an agent has put in the place of .gitignore',
  async () => {
    execFileSync('mkfifo', [at.path('.gitignore')]);
    const answers = await line(at.repository(), (git) => [
      git(['ls-files', '--others', '--exclude-standard']),
      git(['rev-parse', 'HEAD']),
    ]);
    expect(answers[0]?.code).not.toBe(0);
  },
);

it('a line of gits that is interrupted ends with the git that runs', async () => {
  const pidFile = join(at.folder, 'pid');
  const stop = new AbortController();
  const slow = { ...program(`echo $$ >'${pidFile}'; exec sleep 300`), interrupt: stop.signal };
  const answers = line(slow, (git) => [git(['status']), git(['status'])]);
  await until('the program', () => (existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '') || null);
  const process = `/proc/${readFileSync(pidFile, 'utf8').trim()}`;
  stop.abort();
  expect((await answers).map(({ code }) => code)).toEqual([null, null]);
  await until('the end of the program', () => !existsSync(process) || null);
  expect(() => outputIn(undefined, 'status')).toThrow('git status failed: exit code unknown');
});

it('an index that is named must be there: git would take it for an empty one', async () => {
  const missing = { GIT_INDEX_FILE: at.scratch };
  const commands = (git: OneGit) => [git(['write-tree'], missing)];
  await expect(line(at.repository(), commands)).rejects.toThrow('scratch/index is missing');
  await expect(execGit(at.repository(), ['ls-files'], missing)).rejects.toThrow('is missing');
});
