/** `ralph move` takes the paths of a loop along. */
import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage } from './stage.ts';

describe('a loop whose workspace was moved', () => {
  it('reads its prompt file, and finds its program and the file that says it is done, in the new place', async () => {
    const stage = openLoadedStage();
    const [old, moved] = [stage.path('old'), stage.path('new')];
    stage.write('old/PROMPT.md', 'the first task');
    stage.write('old/agent', `#!/bin/sh\nexec '${stage.agent}'\n`);
    chmodSync(stage.path('old/agent'), 0o755);
    const run = ['-f', 'old/PROMPT.md', '--cwd', old, '--done-file', 'finished', '-m', '1'];
    expect((await stage.ralph('run', '--name', 'it', ...run, '--', `${old}/agent`).ended).code).toBe(1);
    expect(stage.given(1, 'stdin')).toContain('the first task');
    const between = stage.path('between');
    renameSync(old, between);
    expect((await stage.ralph('move', old, '--cwd', between).ended).code).toBe(0);
    renameSync(between, moved);
    expect((await stage.ralph('move', between, '--cwd', moved).ended).code).toBe(0);
    writeFileSync(join(moved, 'PROMPT.md'), 'the second task');
    stage.plans(2, 'echo fail; exit 1');
    stage.plans(3, 'touch finished');
    const resumed = await stage.ralph('resume', 'it', '-m', '3', '--cwd', moved).ended;
    expect(stage.given(2, 'stdin')).toContain('the second task');
    expect(stage.given(2, 'stdin')).not.toContain(old);
    expect(resumed).toMatchObject({ code: 0 });
    expect(stage.calls).toBe(3);
    expect(existsSync(old)).toBe(false);
  });

  it.each([
    ['TASK.md', 'repository/web/TASK.md'],
    ['../TASK.md', 'repository/TASK.md'],
  ])('is found from a subfolder of the new place, with its prompt file %s', async (given, file) => {
    const stage = openLoadedStage();
    stage.write(file, 'the first task');
    stage.write('repository/web/src/deep/a', '');
    const inFolder = (folder: string, line: string) =>
      stage.shell(`cd '${stage.path(folder)}' && ${line}`).ended;
    const started = await inFolder(
      'repository/web',
      `$RALPH run --name it -f ${given} -m 1 -- '${stage.agent}'`,
    );
    expect(started.code).toBe(1);
    renameSync(stage.path('repository'), stage.path('elsewhere'));
    const deep = 'elsewhere/web/src/deep';
    const old = '../../../../repository/web';
    expect(await inFolder(deep, `$RALPH move ${old}`)).toMatchObject({
      code: 0,
      stdout: `this loop belongs to ${stage.path('elsewhere/web')} now: it\n`,
      stderr: '',
    });
    expect((await inFolder('elsewhere/web', '$RALPH ls --format names')).stdout).toBe('it\n');
    stage.write(file.replace('repository', 'elsewhere'), 'the second task');
    expect((await inFolder(deep, '$RALPH resume it -m 2')).code).toBe(1);
    expect(stage.given(2, 'stdin')).toContain('the second task');
    expect(existsSync(stage.path('elsewhere/web/src/deep/.ralph'))).toBe(false);
  });

  it('keeps a prompt file that lies elsewhere', async () => {
    const stage = openLoadedStage();
    const [old, moved] = [stage.path('old'), stage.path('new')];
    stage.write('PROMPT.md', 'the task');
    mkdirSync(old);
    const run = ['-f', 'PROMPT.md', '--cwd', old, '-m', '1', '--', stage.agent];
    await stage.ralph('run', '--name', 'it', ...run).ended;
    renameSync(old, moved);
    await stage.ralph('move', old, '--cwd', moved).ended;
    expect((await stage.ralph('resume', 'it', '-m', '2', '--cwd', moved).ended).code).toBe(1);
    expect(stage.given(2, 'stdin')).toContain('the task');
  });
});
