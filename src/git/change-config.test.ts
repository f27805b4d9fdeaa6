import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { processes } from '../process/process.ts';
import { changeConfig } from './change-config.ts';

let git: GitFolder;
beforeEach(() => {
  git = GitFolder.begun();
});
afterEach(() => git.close());

const LOCK = '.git/config.lock';
const setsKey = () => changeConfig(git.repository(), ['ralph.key', 'value']);
const hasKey = (): boolean => git.git('config', '--list').includes('ralph.key=value');

describe('a change of the configuration', () => {
  it('is made in the file that is there, and taken back', async () => {
    const before = readFileSync(git.path('.git/config'), 'utf8');
    await setsKey();
    expect(hasKey()).toBe(true);
    await changeConfig(git.repository(), ['--remove-section', 'ralph']);
    expect(readFileSync(git.path('.git/config'), 'utf8')).toBe(before);
    expect(existsSync(git.path(LOCK))).toBe(false);
  });

  it('removes the lock of a process of Ralph that was killed, also if another one has its pid now', async () => {
    const birth = { ...processes.birth(process.pid), startTime: '1' };
    for (const owner of [{ ...birth, pid: 4_194_305 }, birth]) {
      git.write(LOCK, JSON.stringify(owner));
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await setsKey();
      expect(existsSync(git.path(LOCK))).toBe(false);
    }
    expect(hasKey()).toBe(true);
  });

  it.each([
    ['another git', () => ''],
    ['a process of Ralph that lives', () => JSON.stringify(processes.birth(process.pid))],
  ])('leaves the lock of %s alone, and says how to remove it', async (_, owner) => {
    git.write(LOCK, owner());
    await expect(setsKey()).rejects.toThrow(`if no git works there, remove it with: rm ${git.path(LOCK)}`);
    expect(readFileSync(git.path(LOCK), 'utf8')).toBe(owner());
  });
});
