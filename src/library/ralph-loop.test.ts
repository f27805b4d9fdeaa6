import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import type { AgentContext } from './function-agent.ts';
import { RalphLoop, type BusMessage, type RalphLoopOptions } from './ralph-loop.ts';

const rootRunner = (): void => {};
const openBus = () => {
  const messages: BusMessage[] = [];
  return { messages, append: (message: BusMessage) => void messages.push(message) };
};
/** A task whose runner does what it is told, with the attempts that were made. */
const openTask = (run: RalphLoopOptions['rootRunner'], options: Partial<RalphLoopOptions> = {}) => {
  const folder = openLibraryFolder();
  const bus = openBus();
  const attempts: number[] = [];
  const loop = new RalphLoop(folder, bus, {
    restartDelay: 0,
    ...options,
    rootRunner: (context, attempt) => {
      attempts.push(attempt);
      return run(context, attempt);
    },
  });
  return { folder, attempts, loop, said: () => bus.messages.map(({ type, body }) => `${type} ${body}`) };
};

describe('the constructor', () => {
  it('S1.2 S1.4 S1.5 S1.50 needs a folder, a bus and a runner, and infers the rest', () => {
    const runDir = openLibraryFolder();
    const bus = openBus();
    const loop = new RalphLoop(runDir, bus, { rootRunner });
    expect(loop).toMatchObject({
      runDir,
      messageBus: bus,
      maxRestarts: 100,
      waitTimeout: 300,
      pollInterval: 1,
      restartDelay: 1,
      projectId: 'project',
      taskId: 'task',
      rootRunner,
    });
    expect(loop.advice).toEqual([]);
  });

  it('S1.3 S1.47 takes every option, and advises against some of their values', () => {
    const projectTask = { projectId: 'my-project', taskId: 'task-001' };
    const options = { maxRestarts: 1000, waitTimeout: '10m', pollInterval: 2, restartDelay: 0, projectTask };
    const loop = new RalphLoop(openLibraryFolder(), openBus(), { ...options, rootRunner });
    expect(loop).toMatchObject({
      maxRestarts: 1000,
      waitTimeout: 600,
      pollInterval: 2,
      restartDelay: 0,
      rootRunner,
      ...projectTask,
    });
    expect(loop.advice.join()).toMatch(
      /1000 restarts are too many.* 10 .* 50 .*without a restart delay.* 5 s/,
    );
  });

  it.each<[string, object]>([
    ['wait timeout must be positive', { waitTimeout: 0 }],
    ['poll interval must be positive', { pollInterval: 0 }],
    ['restart delay must not be negative', { restartDelay: -1 }],
    ['max restarts must not be negative', { maxRestarts: -1 }],
    ['root runner is nil', Object.assign({}, { rootRunner: undefined })],
    ['project id is empty', { projectTask: { projectId: '', taskId: 'x' } }],
  ])('S1.49 refuses: %s', (message, options) => {
    const folder = openLibraryFolder();
    expect(() => new RalphLoop(folder, openBus(), { rootRunner, ...options })).toThrow(message);
  });

  it('S1.2 S1.49 S1.50 refuses a folder or a bus that is none', () => {
    const folder = openLibraryFolder();
    writeFileSync(join(folder, 'file'), '');
    const make =
      (runDir: string, bus: ReturnType<typeof openBus> = openBus()) =>
      () =>
        new RalphLoop(runDir, bus, { rootRunner });
    expect(make('')).toThrow('run directory is empty');
    expect(make('.')).toThrow('run directory is empty');
    // @ts-expect-error -- what only a program without types would say
    expect(make(folder, null)).toThrow('message bus is nil');
    expect(make(join(folder, 'gone'))).toThrow(/^stat run directory/);
    expect(make(join(folder, 'file'))).toThrow('run directory is not a directory');
    expect(make('/')).toThrow('project id is empty');
  });

  it('S1.49 reports the first of several problems, and accepts a delay and a limit of 0', () => {
    const folder = openLibraryFolder();
    const projectTask = { projectId: '', taskId: 'x' };
    const options: object = {
      waitTimeout: 0,
      pollInterval: 0,
      restartDelay: -1,
      maxRestarts: -1,
      projectTask,
    };
    const make = (runDir: string, bus: unknown) => () =>
      // @ts-expect-error -- what only a program without types would pass
      new RalphLoop(runDir, bus, options);
    expect(make('', null)).toThrow('run directory is empty');
    expect(make(join(folder, 'gone'), null)).toThrow('message bus is nil');
    expect(make(join(folder, 'gone'), openBus())).toThrow(/^stat run directory/);
    for (const [problem, fix] of [
      ['wait timeout must be positive', { waitTimeout: 1 }],
      ['poll interval must be positive', { pollInterval: 1 }],
      ['restart delay must not be negative', { restartDelay: 0 }],
      ['max restarts must not be negative', { maxRestarts: 0 }],
      ['root runner is nil', { rootRunner }],
      ['project id is empty', { projectTask: { projectId: 'y', taskId: 'x' } }],
    ] as const) {
      expect(make(folder, openBus())).toThrow(problem);
      Object.assign(options, fix);
    }
    expect(make(folder, openBus())).not.toThrow();
  });
});

describe('run', () => {
  it('S1.1 S1.6 S1.7 S1.14 restarts the runner until DONE is there, whatever it comes to', async () => {
    const { folder, attempts, loop, said } = openTask(({ env }, attempt) => {
      if (attempt === 0) throw new Error('exit status 1');
      if (attempt === 1) return new Error('returned');
      return writeFileSync(join(env['TASK_FOLDER'] ?? '', 'DONE'), '');
    });
    await expect(loop.run()).resolves.toBeUndefined();
    expect(attempts).toEqual([0, 1, 2]);
    expect(existsSync(join(folder, 'DONE'))).toBe(true);
    expect(said()).toEqual([
      'INFO starting root agent (restart #0)',
      'WARNING root agent failed on restart #0: exit status 1',
      'INFO starting root agent (restart #1)',
      'WARNING root agent failed on restart #1: returned',
      'INFO starting root agent (restart #2)',
      'INFO task completed (DONE marker present, no active children)',
    ]);
  });

  it('S1.7 S1.14 fails when the restarts are used up, and says so on the bus', async () => {
    const { attempts, loop, said } = openTask(rootRunner, { maxRestarts: 3 });
    await expect(loop.run()).rejects.toThrow(/^max restarts exceeded$/);
    expect(attempts).toEqual([0, 1, 2]);
    expect(said().at(-1)).toBe('ERROR task failed: max restarts (3) exceeded');
    await expect(loop.run()).rejects.toThrow('max restarts exceeded');
    expect(attempts).toEqual([0, 1, 2, 0, 1, 2]);
  });

  it('S1.10 runs nothing where DONE is there before; one that is a folder is an error', async () => {
    const done = openTask(rootRunner, { maxRestarts: 0 });
    writeFileSync(join(done.folder, 'DONE'), '');
    await done.loop.run();
    const odd = openTask(rootRunner);
    mkdirSync(join(odd.folder, 'DONE'));
    await expect(odd.loop.run()).rejects.toThrow(/^DONE is a directory$/);
    expect([...done.attempts, ...odd.attempts]).toEqual([]);
  });

  it('S1.7 S1.9 S1.30 S1.44 gives back why it was cancelled, before anything else and in the middle of a run', async () => {
    const late = new AbortController();
    const { folder, attempts, loop } = openTask(async ({ signal }: AgentContext) => {
      setTimeout(() => late.abort(new DOMException('too late', 'TimeoutError')), 10);
      await once(signal, 'abort');
    });
    await expect(loop.run(late.signal)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(attempts).toEqual([0]);
    writeFileSync(join(folder, 'DONE'), '');
    await expect(loop.run(AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' });
    expect(attempts).toEqual([0]);
  });

  it('S1.7 cancels the delay between two runs too', async () => {
    const cancelled = new AbortController();
    const { attempts, loop } = openTask(() => void setTimeout(() => cancelled.abort(), 50), {
      restartDelay: 60,
    });
    const began = Date.now();
    await expect(loop.run(cancelled.signal)).rejects.toThrow('aborted');
    expect(Date.now() - began).toBeLessThan(10_000);
    expect(attempts).toEqual([0]);
  });

  it('S1.6 S1.14 ends on an error that no restart can help, and waits for a person where that is asked for', async () => {
    const missing = Object.assign(new Error('spawn nobody ENOENT'), {
      code: 'ENOENT',
      syscall: 'spawn nobody',
    });
    const fatal = openTask(() => Promise.reject(missing));
    await expect(fatal.loop.run()).rejects.toBe(missing);
    const waiting = openTask(() => Promise.reject(Object.assign(new Error('wait'), { exitCode: 42 })));
    await waiting.loop.run();
    const marked = openTask(({ env }) =>
      writeFileSync(join(env['TASK_FOLDER'] ?? '', 'WAIT_WITHOUT_RESTART'), ''),
    );
    await marked.loop.run();
    expect([fatal, waiting, marked].map(({ attempts }) => attempts)).toEqual([[0], [0], [0]]);
  });

  it('S1.53 continues if the bus refuses its messages', async () => {
    const folder = openLibraryFolder();
    const bus = {
      append: (): never => {
        throw new Error('the bus is full');
      },
    };
    const loop = new RalphLoop(folder, bus, {
      rootRunner: () => writeFileSync(join(folder, 'DONE'), ''),
    });
    await expect(loop.run()).resolves.toBeUndefined();
  });

  it('S1.39 takes a run that is too long for a failed one', async () => {
    const { loop, said } = openTask(() => sleep(200), { waitTimeout: 0.05, maxRestarts: 1 });
    await expect(loop.run()).rejects.toThrow('max restarts exceeded');
    expect(said()).toContain('WARNING root agent failed on restart #0: agent timeout');
  });
});
