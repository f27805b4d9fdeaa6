/** The file of the prompt is compared with the start, with the built command. */
import { renameSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CHEAT, CHECK, DONE, record, stageWith, story, warning } from './evidence-stage.ts';
import { openStage, waitFor } from './stage.ts';

describe('an agent that changes the file of its prompt', () => {
  const changed = 'the prompt file was changed since the start: PROMPT.md\n';

  it('is named in the final report, the story, the status and the next prompt, also without checks', async () => {
    const stage = stageWith({ 'PROMPT.md': 'Do it.\n' });
    stage.plans(1, `echo 'Do less.' > PROMPT.md`);
    stage.plans(3, DONE);
    const { code, stderr } = await stage.run('--prompt-file', 'PROMPT.md');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 3 });
    expect(stderr.split(`warning: ${changed}`)).toHaveLength(2);
    expect(stderr).toContain(`  evidence    ${changed}`);
    expect(await story(stage)).toContain(`warning: ${changed}`);
    expect((await stage.ralph('status', 'it').ended).stdout).toContain(`Evidence: ${changed}`);
    expect(stage.given(2, 'stdin')).toMatch(/^Do less\.\n[^]*## The prompt file\n/);
    expect(stage.given(2, 'stdin')).toContain('\n- PROMPT.md: changed, the file of this prompt\n');
    expect((await record(stage)).evidence).toMatchObject({
      watched: true,
      changed: [{ path: 'PROMPT.md', how: 'changed', as: 'prompt' }],
    });
  });

  it('is named beside changed checks, in a subfolder, and after a crash of Ralph', async () => {
    const stage = stageWith({ 'PROMPT.md': 'Do it.\n', 'part/check.sh': CHECK }, openStage);
    stage.plans(1, `${waitFor()}; echo more >> ../PROMPT.md; ${CHEAT}`);
    const args = ['--prompt-file', 'PROMPT.md', '-m', '1', '--check', './check.sh', '--cwd', 'part'];
    const ralph = stage.starts(...args);
    await stage.waitForCall(1);
    ralph.signal('SIGKILL');
    await ralph.ended;
    const resumed = stage.ralph('resume', 'it', '--cwd', 'part');
    await resumed.until('reattached');
    stage.release();
    const { stderr } = await resumed.ended;
    expect(stderr).toContain('warning: the prompt file was changed since the start: ../PROMPT.md\n');
    expect(stderr).toContain(warning('check.sh'));
  });

  it('is named for a file that is not committed, for a link, and after ralph move', async () => {
    const stage = stageWith({ 'part/kept.txt': '', 'TASK.txt': 'Do it.\n' });
    stage.write('part/new.md', 'Do it.\n');
    symlinkSync('../TASK.txt', stage.path('part/link.md'));
    const start = (name: string, file: string) => {
      const place = ['--name', name, '--cwd', stage.path('part'), '-f', `part/${file}`];
      return stage.ralph('run', ...place, '--protect', 'kept.txt', '-m', '1', '--', stage.agent).ended;
    };
    await start('new', 'new.md');
    await start('link', 'link.md');
    renameSync(stage.path('part'), stage.path('moved'));
    const moved = stage.path('moved');
    expect((await stage.ralph('move', stage.path('part'), '--cwd', moved).ended).code).toBe(0);
    stage.plans('default', 'for f in new.md ../TASK.txt kept.txt; do echo more >> $f; done');
    const resume = (name: string) => stage.ralph('resume', name, '-m', '2', '--cwd', moved).ended;
    const { stderr } = await resume('new');
    expect(stderr).toContain(`warning: ${changed.replace('PROMPT', 'new')}`);
    expect(stderr).toContain(warning('kept.txt'));
    const linked = changed.replace('PROMPT.md', '../TASK.txt');
    expect((await resume('link')).stderr).toContain(`warning: ${linked}`);
  });

  it('is not named for the plan of the loop, for a file that git ignores or outside of the repository, or for a text', async () => {
    const stage = stageWith({ 'PLAN.md': '- [ ] one\n', '.gitignore': 'mine.md\n' });
    stage.write('mine.md', 'Do it.\n');
    stage.write('../outside.md', 'Do it.\n');
    stage.plans('default', `for f in PLAN.md mine.md ../outside.md; do echo more >> $f; done; ${DONE}`);
    const runs = [
      ['--prompt-file', 'PLAN.md', '--plan', 'PLAN.md', '-m', '1'],
      ['--prompt-file', 'mine.md'],
      ['--prompt-file', '../outside.md'],
      ['-p', 'PLAN.md'],
    ];
    for (const args of runs) {
      // oxlint-disable-next-line no-await-in-loop -- one loop after the other
      const { stderr } = await stage.run(...args, '--fresh');
      expect(stderr).toContain('ralph: it ');
      expect(stderr).not.toContain('changed since the start');
    }
  });
});
