/** What a person reads of a loop. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openStage, waitFor } from './stage.ts';
import { done, openRepository, runs, sibling, work } from './worktree-stage.ts';

const task = ['-p', 'x'];
const count = (text: string, words: string): number => text.split(words).length - 1;

describe('a check', () => {
  it('that is enough by itself is no claim', async () => {
    const stage = openStage();
    stage.plans(1, 'echo hi');
    const { code, stderr } = await stage.run(...task, '--until', 'checks', '--check', 'true');
    expect(code).toBe(0);
    expect(stderr).toContain('[ralph] it: every check passed\n');
    expect(stderr).toContain('result      done: every check passed after the last run\n');
    expect(stderr).not.toContain('claim');
  });
});

describe('a commit', () => {
  const scm = { scm: { command: 'git', tasks: ['commit'] } };

  it('is told by its subject, and not by what was said to get it', async () => {
    const stage = openRepository(scm);
    stage.plans(1, 'echo 1 >work; echo 2 >other; echo at work');
    stage.plans(2, 'echo a long talk >&2; echo Make the work');
    const { stdout, stderr } = await stage.run(...task, '-m', '1');
    expect(stdout).toBe('at work\n');
    expect(stderr).toContain('asking the agent for a commit message\n');
    expect(stderr).toMatch(/\[ralph\] it: committed [0-9a-f]{7}: Make the work \(2 files\)\n/);
    expect(stderr).not.toContain('a long talk');
    expect(readFileSync(stage.file('runs/0001.2/stderr.log'), 'utf8')).toBe('a long talk\n');
  });

  it('that a remote refuses names its cause', async () => {
    const stage = openRepository({ scm: { command: 'git', tasks: ['commit', 'push'] } });
    stage.plans(1, 'echo 1 >work');
    stage.plans(2, 'echo Make the work');
    const { stderr } = await stage.run(...task, '-m', '1');
    expect(stderr).toContain(
      'SCM task "push" failed: exit code 128: fatal: No configured push destination.\n',
    );
  });

  it('that could not be made stays in its column', async () => {
    const stage = openRepository(scm);
    stage.plans(1, 'echo 1 >work');
    stage.plans(2, 'exit 0');
    const { stderr } = await stage.run(...task, '-m', '1');
    expect(stderr).toContain('\n  uncommitted agent did not provide a valid commit message\n');
  });
});
