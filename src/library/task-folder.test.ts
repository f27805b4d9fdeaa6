/** The task folder of `RalphLoop`: one folder, which the user has made, with its children and its messages. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import { startGroup } from '../../test/rig/process-group.ts';
import { recordOf } from '../../test/rig/recorded-runs.ts';
import { busAt } from '../bus/bus-file.ts';
import { post, readMessages } from '../bus/bus.ts';
import { draft } from '../bus/message.ts';
import { lives } from '../../test/rig/cli/leftovers.ts';
import { fileBus } from './file-bus.ts';
import type { AgentContext } from './function-agent.ts';
import { RalphLoop, type BusMessage, type RalphLoopOptions } from './ralph-loop.ts';

const done = ({ env }: AgentContext): void => writeFileSync(join(env['TASK_FOLDER'] ?? '', 'DONE'), '');

const openTask = (rootRunner: RalphLoopOptions['rootRunner'], options: Partial<RalphLoopOptions> = {}) => {
  const folder = openLibraryFolder();
  const messages: string[] = [];
  const append = ({ type, body }: BusMessage): void => void messages.push(`${type} ${body}`);
  const loop = new RalphLoop(
    folder,
    { append },
    { restartDelay: 0, pollInterval: 0.01, ...options, rootRunner },
  );
  return { folder, messages, loop };
};

/** Starts a process in a group of its own that is part of the run, and records it as a child. */
function registerChild({ env }: AgentContext, name: string): number {
  const child = spawn('sleep', ['300'], { env, detached: true, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const folder = join(env['RUNS_DIR'] ?? '', name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'run-info.yaml'), recordOf(child.pid ?? 0));
  return child.pid ?? 0;
}

describe('the task folder', () => {
  it('S1.4 S1.19 S1.61 S1.66 is the run directory, for the runner and for everything that the loop writes', async () => {
    let context: AgentContext | undefined;
    const { folder, loop } = openTask((given) => {
      context = given;
      done(given);
    });
    writeFileSync(join(folder, 'TASK.md'), 'mend the fence\n');
    await loop.run();
    const { env = {}, prompt = '' } = context ?? {};
    const run = join(folder, 'runs', env['JRUN_ID'] ?? '');
    expect(env).toMatchObject({
      TASK_FOLDER: folder,
      JRUN_TASK_FOLDER: folder,
      RUNS_DIR: join(folder, 'runs'),
      RUN_FOLDER: run,
      MESSAGE_BUS: join(folder, 'TASK-MESSAGE-BUS.md'),
      RALPH_DONE_FILE: join(folder, 'DONE'),
      JRUN_PROJECT_ID: 'project',
      JRUN_TASK_ID: 'task',
    });
    expect(prompt.split('\n---\n')[1]).toBe('\nmend the fence');
    expect(readFileSync(join(run, 'run-info.yaml'), 'utf8')).toMatch(
      /^run_id: task-[0-9a-f]{8}\.1\.1\n(?:.*\n)*project_id: project\ntask_id: task\n(?:.*\n)*status: completed\n/m,
    );
    expect(readdirSync(join(folder, '.ralph', 'loops', 'task'))).not.toContain('runs');
    expect(existsSync(join(folder, 'TASK-MESSAGE-BUS.md'))).toBe(false);
  });

  it('S1.61 keeps the runs of earlier loops', async () => {
    const { folder, loop } = openTask(() => {}, { maxRestarts: 1 });
    await expect(loop.run()).rejects.toThrow('max restarts exceeded');
    await expect(loop.run()).rejects.toThrow('max restarts exceeded');
    const runs = readdirSync(join(folder, 'runs'));
    expect(runs).toHaveLength(2);
    expect(runs.join()).toMatch(/^task-[0-9a-f]{8}\.1\.1,task-[0-9a-f]{8}\.1\.1$/);
  });

  it('S1.22 S1.57 fails if DONE cannot be inspected, and warns about a file in the place of `runs`', async () => {
    const { folder, loop, messages } = openTask(() => {});
    writeFileSync(join(folder, 'runs'), '');
    writeFileSync(join(folder, 'DONE'), '');
    await loop.run();
    expect(messages).toContain('WARNING failed to enumerate children: runs: it is not a folder');
  });
});

describe('a child in the task folder', () => {
  it('S1.23 S1.24 S1.51 S1.54 is waited for, also one that the runner has started', async () => {
    let pgid = 0;
    const { loop, messages } = openTask((context) => {
      pgid = registerChild(context, 'kid');
      done(context);
    });
    const running = loop.run();
    await until(
      'the wait',
      () => messages.includes('INFO waiting for 1 children to complete: [kid]') || null,
    );
    expect(lives(pgid)).toBe(true);
    process.kill(-pgid, 'SIGKILL');
    await running;
    expect(messages.at(-1)).toBe('INFO task completed (all children finished)');
  });

  it('S1.51 S1.52 outlasts the wait with a warning, and keeps running', async () => {
    let pgid = 0;
    const { loop, messages } = openTask(
      (context) => {
        pgid = registerChild(context, 'kid');
        done(context);
      },
      { waitTimeout: 0.5 },
    );
    await loop.run();
    expect(messages.at(-1)).toBe('WARNING timeout waiting for children after 500ms: [kid]');
    expect(lives(pgid)).toBe(true);
  });

  it('S1.52 is ended by a cancellation if the runner has started it, which is an error', async () => {
    let pgid = 0;
    const other = startGroup();
    const { folder, loop, messages } = openTask((context) => {
      pgid = registerChild(context, 'kid');
      done(context);
    });
    mkdirSync(join(folder, 'runs', 'other'), { recursive: true });
    writeFileSync(join(folder, 'runs', 'other', 'run-info.yaml'), recordOf(other.pgid));
    const cancelled = new AbortController();
    const running = loop.run(cancelled.signal);
    await until('the wait', () => messages.some((line) => line.includes('waiting for 2')) || null);
    cancelled.abort();
    await expect(running).rejects.toThrow('aborted');
    await until('the end of the child', () => !lives(pgid) || null);
    expect(lives(other.pgid)).toBe(true);
    expect(messages.at(-1)).toMatch(/^ERROR failed waiting for children: /);
  });
});

describe('a message in the task folder', () => {
  it('S1.41 asks for a person, and others are shown to the runner, without those of the loop itself', async () => {
    const prompts: string[] = [];
    const folder = openLibraryFolder();
    const path = join(folder, 'TASK-MESSAGE-BUS.md');
    const say = (type: string, body: string): unknown =>
      post(busAt(path), draft({ type, projectId: 'project', body }));
    const attempts: number[] = [];
    const loop = new RalphLoop(folder, fileBus(path), {
      restartDelay: 0,
      rootRunner: async ({ prompt }, attempt) => {
        prompts.push(prompt);
        attempts.push(attempt);
        if (attempt === 0) await say('INFO', 'the gate is open');
        else await say('wait_without_restart', 'who has the key?');
      },
    });
    await loop.run();
    expect(attempts).toEqual([0, 1]);
    expect(prompts[1]).toContain('the gate is open');
    expect(prompts[1]).not.toContain('starting root agent');
    expect(readMessages(busAt(path)).at(-1)?.body).toBe('Wait-without-restart signal detected');
  });
});

describe('the project', () => {
  it('S1.25 S1.83 gets one fact about a completed task on its bus, which is beside the task folder', async () => {
    const { folder, loop } = openTask(done);
    await loop.run();
    await loop.run();
    const bus = busAt(join(dirname(folder), 'PROJECT-MESSAGE-BUS.md'));
    expect(readMessages(bus)).toMatchObject([
      { type: 'FACT', projectId: 'project', taskId: 'task', body: 'task task completed (1 run)' },
    ]);
    expect(existsSync(join(folder, 'TASK-COMPLETE-FACT-PROPAGATION.yaml'))).toBe(true);
  });

  it('S1.25 that cannot be told is an error on the bus of the task, and the task is done', async () => {
    const { folder, loop, messages } = openTask(done);
    mkdirSync(join(dirname(folder), 'PROJECT-MESSAGE-BUS.md'));
    await loop.run();
    expect(messages.at(-1)).toMatch(/^ERROR task completion fact propagation failed: /);
  });
});
