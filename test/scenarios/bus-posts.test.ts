import { appendFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readMessages } from '../../src/bus/bus.ts';
import { busAt } from '../../src/bus/bus-file.ts';
import type { Message } from '../../src/bus/message.ts';
import type { LoopEvent } from '../../src/loop/event.ts';
import { learn, NOTHING_KNOWN } from '../../src/loop/report.ts';
import { BusPosts } from '../../src/projections/bus-posts.ts';
import { LoopFolder } from '../../src/home/home.ts';
import { heldLock } from '../rig/held-lock.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const conductor = ['-p', 'work', '--preset', 'conductor', '--restart-delay', '0'];
const createsDone = ': > "$TASK_FOLDER/DONE"';
const onTask = (stage: Stage): readonly Message[] => readMessages(busAt(stage.file('TASK-MESSAGE-BUS.md')));
const onProject = (stage: Stage): readonly Message[] =>
  readMessages(busAt(stage.path('.ralph/PROJECT-MESSAGE-BUS.md')));
const told = (messages: readonly Message[]): readonly string[] =>
  messages.map(({ type, body }) => `${type} ${body.split('\n')[0]}`);

/** What the journal says that is on the bus, each with the number of its event. */
const expected = (stage: Stage): readonly string[] => {
  const folder = new LoopFolder({ id: 'it', name: 'it', workspace: stage.workspace }, '/state');
  const posts = new BusPosts(folder, NOTHING_KNOWN.state);
  let known = NOTHING_KNOWN;
  return stage.journal.flatMap((event, index) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Ralph has just written it
    const happened = event as unknown as LoopEvent;
    known = learn(known, happened);
    return posts.take(happened, known).map(({ type, body }) => `${index + 1} ${type} ${body.split('\n')[0]}`);
  });
};
const posted = (stage: Stage): readonly string[] =>
  onTask(stage).map(({ meta, type, body }) => `${meta['ralph_event']} ${type} ${body.split('\n')[0]}`);

describe('a conductor loop posts', () => {
  it('S1.28 S1.51 S1.73 its runs and failures, with the end of stderr and without secrets (T003 T011 T017)', async () => {
    const stage = openLoadedStage();
    stage.env['OPENAI_API_KEY'] = 'sk-secret-0123456789abcdef';
    stage.plans(1, `seq 1 60 >&2; echo "key $OPENAI_API_KEY" >&2; exit 3`);
    const { code } = await stage.run(...conductor, '-m', '2');
    expect(code).toBe(1);
    const messages = onTask(stage);
    expect(told(messages)).toEqual([
      'INFO starting root agent (restart #0)',
      `RUN_START run_dir: ${stage.path('.ralph/loops/it/runs/0001')}`,
      'RUN_CRASH exit_code: 3',
      'WARNING root agent failed on restart #0: agent exited with code 3',
      'INFO starting root agent (restart #1)',
      `RUN_START run_dir: ${stage.path('.ralph/loops/it/runs/0002')}`,
      'RUN_STOP exit_code: 0',
      'ERROR task failed: max restarts (2) exceeded',
    ]);
    const [, stderr = ''] = messages[2]?.body.split('\n\n## stderr (last 50 lines)\n\n') ?? [];
    expect(stderr.split('\n')).toHaveLength(50);
    expect(stderr).toMatch(/^12\n[^]*\n60\nkey <redacted>$/);
    const { taskId, projectId, runId } = messages[2] ?? {};
    expect({ taskId, projectId }).toEqual({ taskId: 'it', projectId: 'workspace' });
    expect(runId).toBe(/^JRUN_ID=(.*)$/m.exec(stage.given(1, 'env'))?.[1]);
    // The agent is not shown what its own loop posts.
    expect(stage.given(2, 'stdin')).not.toContain('starting root agent');
  });

  it('S1.24 S1.25 S1.83 one fact to the project when the task is complete, also if it runs again (T004 T035)', async () => {
    const stage = openLoadedStage();
    const args = [...conductor, '--done-file', stage.path('DONE')];
    stage.plans(1, `$RALPH bus post --type FACT found; : > DONE`);
    stage.env['RALPH'] = `${process.execPath} ${stage.main}`;
    expect((await stage.run(...args)).code).toBe(0);
    expect(told(onTask(stage)).at(-1)).toBe('INFO task completed (DONE marker present, no active children)');
    const [fact] = onProject(stage);
    expect(fact).toMatchObject({ type: 'FACT', taskId: 'it', body: 'task it completed (1 run)' });
    expect(fact?.meta).toMatchObject({
      kind: 'task_completion_propagation',
      source_project_id: 'workspace',
      source_task_id: 'it',
      source_bus: stage.file('TASK-MESSAGE-BUS.md'),
      runs: '1',
      failed_runs: '0',
    });
    expect(readFileSync(stage.file('TASK-COMPLETE-FACT-PROPAGATION.yaml'), 'utf8')).toBe(
      `propagation_key: ${fact?.meta['propagation_key']}\n`,
    );
    expect((await stage.run(...args)).code).toBe(0);
    expect(stage.calls).toBe(1);
    expect(onProject(stage)).toHaveLength(1);
  });

  it('S1.25 S1.83 an error if the project cannot be told, and is done all the same (T035)', async () => {
    const stage = openLoadedStage();
    mkdirSync(stage.path('.ralph'));
    symlinkSync('/dev/null', stage.path('.ralph/PROJECT-MESSAGE-BUS.md'));
    stage.plans(1, createsDone);
    const { code, stderr } = await stage.run(...conductor);
    expect(code).toBe(0);
    expect(told(onTask(stage)).at(-1)).toBe(
      `ERROR task completion fact propagation failed: cannot use the message bus ${stage.path('.ralph/PROJECT-MESSAGE-BUS.md')}: it is a symbolic link; remove it or move it away`,
    );
    expect(stderr).toContain('warning: cannot use the message bus');
  });

  it('S1.53 nothing to a bus that it cannot write, says so once and continues', async () => {
    const stage = openLoadedStage();
    mkdirSync(stage.file('TASK-MESSAGE-BUS.md'), { recursive: true });
    stage.plans(2, createsDone);
    const { code, stderr } = await stage.run(...conductor);
    expect(code).toBe(0);
    // Once for what it posts, and once for what it reads.
    const warning = `warning: cannot use the message bus ${stage.file('TASK-MESSAGE-BUS.md')}: it is`;
    expect(stderr.split(warning)).toHaveLength(3);
    expect(stderr).toContain(`${warning} a folder; remove it or move it away; the loop continues without it`);
  });

  it(
    'each message once, also if it is killed before it can post them, or while it does',
    { tags: ['flock'] },
    async () => {
      const stage = openStage();
      stage.plans(1, 'exit 1');
      stage.plans(2, waitFor());
      stage.plans(3, createsDone);
      mkdirSync(stage.file(''), { recursive: true });
      const { release } = await heldLock(stage.file('TASK-MESSAGE-BUS.md'));
      const first = stage.starts(...conductor);
      await stage.waitForCall(2);
      first.signal('SIGKILL');
      await first.ended;
      expect(onTask(stage)).toEqual([]);
      release();
      // A record that was being written.
      appendFileSync(stage.file('TASK-MESSAGE-BUS.md'), '---\nmsg_id: MSG-torn\nts: 2026-');
      stage.release();
      expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
      expect(posted(stage)).toEqual(expected(stage));
      expect(posted(stage).length).toBeGreaterThan(8);
      expect(onProject(stage)).toHaveLength(1);
    },
  );

  it('each message once, however often its owner is killed', async () => {
    const stage = openStage();
    stage.plans('default', 'exit 1');
    stage.plans(6, createsDone);
    let loop = stage.starts(...conductor);
    for (let round = 1; round <= 5 && !loop.hasEnded; round++) {
      // oxlint-disable-next-line no-await-in-loop -- one owner after the other
      await stage.waitForEvents('run.ended', round);
      loop.signal('SIGKILL');
      // oxlint-disable-next-line no-await-in-loop -- one owner after the other
      await loop.ended;
      loop = stage.process('resume', 'it');
    }
    expect((await loop.ended).code).toBe(0);
    expect(posted(stage).toSorted()).toEqual(expected(stage).toSorted());
    expect(onProject(stage)).toHaveLength(1);
  });
});

describe('other loops post', () => {
  it('only what people tell them', async () => {
    const stage = openLoadedStage();
    stage.plans(1, waitFor());
    const loop = stage.starts('-p', 'work', '-m', '1');
    await stage.waitForCall(1);
    await stage.ralph('tell', 'it', 'use bun').ended;
    stage.release();
    await loop.ended;
    expect(told(onTask(stage))).toEqual(['USER use bun']);
    expect(onProject(stage)).toEqual([]);
  });
});
