/** The task folder of document 000: run folders, records, environment and prompts, and children that other programs have recorded. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { isGroupAlive } from '../../src/process/stop.ts';
import { ownPosts } from '../rig/own-posts.ts';
import { NO_GROUP, startGroup } from '../rig/process-group.ts';
import { recordOf, recordRuns } from '../rig/recorded-runs.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const SLOW = { timeout: 60_000 };
const conductor = ['--preset', 'conductor', '--restart-delay', '0'];
const createsDone = ': > "$TASK_FOLDER/DONE"';
/** The record of a run is written when its process has started. */
const waitsForRecord = 'while ! grep -qs "status: running" "$RUN_FOLDER/run-info.yaml"; do sleep 0.01; done';
const inWorkspaceFolder = (stage: Stage, file: string, name = 'it'): string =>
  stage.path(`.ralph/loops/${name}/${file}`);
const record = (stage: Stage, run: string): unknown =>
  load(readFileSync(inWorkspaceFolder(stage, `runs/${run}/run-info.yaml`), 'utf8'));
const variables = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );

describe('two runs of a task', () => {
  it(
    'S1.59 S1.61 S1.62 S1.64 S1.68 S1.69 S1.70 S1.71 leave their folders, records, prompts and output (T013 T017)',
    SLOW,
    async () => {
      const stage = openLoadedStage();
      stage.plans(1, 'echo first; echo trouble >&2; exit 1');
      stage.plans(
        2,
        `${waitsForRecord}; cp "$RUN_FOLDER/run-info.yaml" "$FAKE_CALL/record"; echo mine > "$RUN_FOLDER/output.md"; ${createsDone}`,
      );
      const { code } = await stage.run('-p', 'work', ...conductor);
      expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
      const files = ['agent-stderr.txt', 'agent-stdout.txt', 'output.md', 'prompt.md', 'run-info.yaml'];
      expect(readdirSync(inWorkspaceFolder(stage, 'runs')).toSorted()).toEqual(['0001', '0002']);
      for (const run of ['0001', '0002'])
        expect(readdirSync(inWorkspaceFolder(stage, `runs/${run}`)).toSorted()).toEqual(files);
      expect(readFileSync(inWorkspaceFolder(stage, 'runs/0001/output.md'), 'utf8')).toBe('first\n');
      expect(readFileSync(inWorkspaceFolder(stage, 'runs/0001/agent-stderr.txt'), 'utf8')).toBe('trouble\n');
      expect(readFileSync(inWorkspaceFolder(stage, 'runs/0002/output.md'), 'utf8')).toBe('mine\n');
      expect(readFileSync(inWorkspaceFolder(stage, 'TASK.md'), 'utf8')).toBe('work\n');

      const id = variables(stage.given(1, 'env')).get('JRUN_ID');
      expect(id).toMatch(/^it-[0-9a-f]{8}\.1\.1$/);
      expect(record(stage, '0001')).toMatchObject({
        run_id: id,
        project_id: 'workspace',
        task_id: 'it',
        exit_code: 1,
        status: 'failed',
        error_summary: 'agent reported failure',
        cwd: stage.workspace,
      });
      expect(load(stage.given(2, 'record'))).toMatchObject({
        previous_run_id: id,
        end_time: '0001-01-01T00:00:00.000Z',
        exit_code: -1,
        status: 'running',
      });
      expect(record(stage, '0002')).toMatchObject({ previous_run_id: id, exit_code: 0, status: 'completed' });

      const prompt = readFileSync(inWorkspaceFolder(stage, 'runs/0002/prompt.md'), 'utf8');
      expect(statSync(inWorkspaceFolder(stage, 'runs/0002/prompt.md')).mode & 0o777).toBe(0o600);
      expect(stage.given(2, 'stdin')).toBe(prompt);
      expect(prompt.split('\n---\n')[1]).toBe('\nContinue working on the following:\n\nwork');
      expect(prompt).toContain(`\nWrite output.md to ${inWorkspaceFolder(stage, 'runs/0002/output.md')}\n`);
      expect(prompt).toContain(`\nWhen done, create: ${inWorkspaceFolder(stage, 'DONE')}\n`);
      expect(stage.given(1, 'stdin').split('\n---\n')[1]).toBe('\nwork');
    },
  );

  it('S1.65 are recorded as they ended, even if the owner was killed in between', SLOW, async () => {
    const stage = openStage();
    stage.plans(1, `${waitsForRecord}; echo $$ > "$FAKE_CALL/ready"; ${waitFor()}; ${createsDone}`);
    const ralph = stage.starts('-p', 'work', ...conductor);
    await stage.waitForCall(1, 'ready');
    ralph.signal('SIGKILL');
    await ralph.ended;
    stage.release();
    await stage.waitForCall(1, 'end');
    expect(record(stage, '0001')).toMatchObject({ status: 'running' });
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(record(stage, '0001')).toMatchObject({ status: 'completed', exit_code: 0 });
    expect(stage.calls).toBe(1);
  });

  it('S1.59 go on if the agent removes the folder of the runs', SLOW, async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'echo first; rm -rf "$RUNS_DIR"');
    stage.plans(2, createsDone);
    expect((await stage.run('-p', 'work', ...conductor)).code).toBe(0);
    expect(record(stage, '0001')).toMatchObject({ status: 'completed' });
    expect(record(stage, '0002')).toMatchObject({ status: 'completed' });
  });
});

describe('the task', () => {
  it('S1.68 comes from TASK.md if there is no prompt, and TASK.md is never overwritten', SLOW, async () => {
    const stage = openLoadedStage();
    stage.plans('default', createsDone);
    const missing = await stage.run(...conductor);
    expect(missing).toMatchObject({
      code: 2,
      stderr: `ralph: error: TASK.md not found and no prompt provided; pass a task, or write ${stage.path('.ralph/loops/it/TASK.md')}\n`,
    });
    stage.write('.ralph/loops/it/TASK.md', 'from the file\n');
    expect((await stage.run(...conductor)).code).toBe(0);
    expect(stage.given(1, 'stdin').split('\n---\n')[1]).toBe('\nfrom the file');
    expect((await stage.ralph('rm', 'it').ended).code).toBe(0);
    stage.write('.ralph/loops/it/TASK.md', 'older\n');
    expect((await stage.run('-p', 'newer', ...conductor)).code).toBe(0);
    expect(stage.given(2, 'stdin').split('\n---\n')[1]).toBe('\nnewer');
    expect(readFileSync(inWorkspaceFolder(stage, 'TASK.md'), 'utf8')).toBe('older\n');
  });

  it('S1.68 is read once: a prompt file that changes later changes nothing', SLOW, async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'before\n');
    stage.plans(1, 'echo after > PROMPT.md');
    stage.plans(2, createsDone);
    expect((await stage.run('-f', 'PROMPT.md', ...conductor)).code).toBe(0);
    expect(stage.given(2, 'stdin').split('\n---\n')[1]).toBe(
      '\nContinue working on the following:\n\nbefore\n',
    );
  });
});

describe('the environment of an agent', () => {
  it('S1.66 has the ids and folders of its own run, in a child loop too (T026)', SLOW, async () => {
    const stage = openLoadedStage();
    const child = `$RALPH run -p y --name child --preset conductor -- "${stage.agent}"`;
    stage.plans(1, `${child}; ${createsDone}`);
    stage.plans(2, createsDone);
    const { code } = await stage.shell(`$RALPH run -p x --name it ${conductor.join(' ')} -- '${stage.agent}'`)
      .ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    const [outer, inner] = [variables(stage.given(1, 'env')), variables(stage.given(2, 'env'))];
    for (const [env, name, parent] of [
      [outer, 'it', ''],
      [inner, 'child', outer.get('RALPH_RUN_ID')],
    ] as const) {
      const folder = stage.path(`.ralph/loops/${name}`);
      expect(Object.fromEntries(env)).toMatchObject({
        TASK_FOLDER: folder,
        JRUN_TASK_FOLDER: folder,
        RUN_FOLDER: `${folder}/runs/0001`,
        JRUN_RUN_FOLDER: `${folder}/runs/0001`,
        RUNS_DIR: `${folder}/runs`,
        JRUN_RUNS_DIR: `${folder}/runs`,
        MESSAGE_BUS: `${folder}/TASK-MESSAGE-BUS.md`,
        JRUN_MESSAGE_BUS: `${folder}/TASK-MESSAGE-BUS.md`,
        JRUN_PROJECT_ID: 'workspace',
        JRUN_TASK_ID: name,
        JRUN_ID: env.get('RALPH_RUN_ID'),
        JRUN_PARENT_ID: parent,
        RALPH_PARENT_RUN_ID: parent,
      });
    }
    expect(inner.get('JRUN_PARENT_ID')).toBe(outer.get('JRUN_ID'));
    expect(stage.given(1, 'cwd').trim()).toBe(stage.workspace);
    const child1 = load(readFileSync(inWorkspaceFolder(stage, 'runs/0001/run-info.yaml', 'child'), 'utf8'));
    expect(child1).toMatchObject({ parent_run_id: outer.get('JRUN_ID'), task_id: 'child' });
  });
});

describe('a run that another program has recorded', () => {
  it('S1.23 S1.51 S1.54 is waited for after DONE until its processes are gone (T022)', SLOW, async () => {
    const stage = openLoadedStage();
    const { pgid, end } = startGroup();
    recordRuns(stage.path('.ralph/loops/it'), { x: recordOf(pgid) });
    const ralph = stage.starts('-p', 'work', ...conductor);
    await ralph.until('waiting for 1 child to complete: x');
    expect((await stage.ralph('status', 'it').ended).code).toBe(0);
    end();
    const { code } = await ralph.ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 0 });
    expect(stage.journal.filter(({ type }) => type.startsWith('child.'))).toMatchObject([
      { type: 'child.started', child: 'x', record: true },
      { type: 'child.ended', child: 'x' },
    ]);
    expect(stage.journal.at(-1)).toMatchObject({ outcome: { type: 'done', childrenLeft: [] } });
    expect(ownPosts(stage.path('.ralph/loops/it'))).toEqual([
      'INFO waiting for 1 children to complete: [x]',
      'INFO task completed (all children finished)',
    ]);
  });

  it('S1.51 S1.52 outlives a cancelled wait for it, which is no success (T024)', SLOW, async () => {
    const { pgid } = startGroup();
    const stage = openStage();
    recordRuns(stage.path('.ralph/loops/it'), { x: recordOf(pgid) });
    const ralph = stage.starts('-p', 'work', ...conductor);
    await ralph.until('waiting for 1 child to complete: x');
    ralph.signal('SIGINT');
    expect((await ralph.ended).code).toBe(130);
    expect(isGroupAlive(pgid)).toBe(true);
    expect(ownPosts(stage.path('.ralph/loops/it')).at(-1)).toBe(
      'ERROR failed waiting for children: cancelled by SIGINT',
    );
  });

  it(
    'S1.51 S1.55 S1.56 is closed as failed if it is dead, and a damaged record is a warning (T025)',
    SLOW,
    async () => {
      const stage = openLoadedStage();
      recordRuns(stage.path('.ralph/loops/it'), { dead: recordOf(NO_GROUP), x: 'garbage: [' });
      const { code, stderr } = await stage.run('-p', 'work', ...conductor);
      expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 0 });
      expect(stderr).toContain('warning: failed to enumerate children: runs/x/run-info.yaml: ');
      expect(stderr).not.toContain('waiting for');
      expect(ownPosts(stage.path('.ralph/loops/it'))[0]).toMatch(
        /^WARNING failed to enumerate children: runs\/x\/run-info\.yaml: /,
      );
      expect(record(stage, 'dead')).toMatchObject({
        status: 'failed',
        exit_code: -1,
      });
      const text = readFileSync(inWorkspaceFolder(stage, 'runs/dead/run-info.yaml'), 'utf8');
      expect(text).toMatch(/^end_time: 2\d{3}-/m);
      expect(existsSync(inWorkspaceFolder(stage, 'runs/dead/run-info.yaml.lock'))).toBe(true);
    },
  );

  it('S1.57 cannot be looked for if `runs` is a file: a warning, and the loop is done', SLOW, async () => {
    const stage = openLoadedStage();
    recordRuns(stage.path('.ralph/loops/it'), {});
    writeFileSync(inWorkspaceFolder(stage, 'runs'), '');
    const { code, stderr } = await stage.run('-p', 'work', ...conductor);
    expect(code).toBe(0);
    expect(stderr).toContain('warning: failed to enumerate children: runs: it is not a folder');
  });
});

describe('a child loop', () => {
  it(
    'S1.58 is known to its parent before its slow start, so that the parent waits for it',
    SLOW,
    async () => {
      const stage = openLoadedStage();
      stage.settings({ setup: [`: > "${stage.plan}/setting-up"; ${waitFor('set-up')}`] });
      stage.identifies();
      const child = `$RALPH spawn --name kid --no-tmux --worktree -m 1 task -- "${stage.agent}"`;
      stage.plans(1, `${child} && ${createsDone}`);
      const parent = stage.shell(`$RALPH run -p x --name it ${conductor.join(' ')} -- '${stage.agent}'`);
      await parent.until('waiting for 1 child loop to complete: kid');
      await stage.waitForFile(join(stage.plan, 'setting-up'));
      expect(stage.calls).toBe(1);
      stage.release('set-up');
      expect((await parent.ended).code).toBe(0);
      expect(stage.calls).toBe(2);
    },
  );
});
