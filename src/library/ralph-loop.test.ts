import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import type { AgentContext } from './function-agent.ts';
import { readMessages } from '../bus/bus.ts';
import { busAt } from '../bus/bus-file.ts';
import { fileBus } from './file-bus.ts';
import { UserError } from '../user-error.ts';
import { RalphLoop, type BusMessage, type RalphLoopOptions } from './ralph-loop.ts';

const rootRunner = (): void => {};
const openBus = () => {
  const messages: BusMessage[] = [];
  return { messages, append: (message: BusMessage) => void messages.push(message) };
};
/** A task with the given runner, its attempts and its messages. */
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
  return { folder, attempts, loop, messages: () => bus.messages.map(({ type, body }) => `${type} ${body}`) };
};

describe('the constructor', () => {
  it('S1.2 S1.4 S1.5 S1.50 requires a folder, a bus and a runner, and derives the rest', () => {
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

  it('S1.3 S1.47 accepts every option and advises against extreme values', () => {
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
    expect(loop.advice.join()).toMatch(/1000 restarts are too many.* 10 .* 50 .*a restart delay of 0.* 5 s/);
  });

  it.each<[string, object]>([
    ['wait timeout must be positive: waitTimeout, got 0', { waitTimeout: 0 }],
    ['poll interval must be positive: pollInterval, got "0s"', { pollInterval: '0s' }],
    ['waitTimeout must be a time such as 90, 90s, 15m or 2h, got "soon"', { waitTimeout: 'soon' }],
    ['restart delay must not be negative: restartDelay, got -1', { restartDelay: -1 }],
    ['max restarts must not be negative: maxRestarts, got -1', { maxRestarts: -1 }],
    ['maxRestarts must be a whole number >= 0, got 1.5', { maxRestarts: 1.5 }],
    [
      'root runner is nil: rootRunner must be a function, got undefined',
      Object.assign({}, { rootRunner: undefined }),
    ],
    [
      'project id is empty: projectTask must have a string for it, got ""',
      { projectTask: { projectId: '', taskId: 'x' } },
    ],
    ['unknown option maxRestart (did you mean maxRestarts?)', { maxRestart: 3 }],
  ])('S1.49 rejects an invalid option: %s', (message, options) => {
    const folder = openLibraryFolder();
    expect(() => new RalphLoop(folder, openBus(), { rootRunner, ...options })).toThrow(message);
  });

  it('S1.2 S1.49 S1.50 rejects an invalid run directory and an invalid bus', () => {
    const folder = openLibraryFolder();
    writeFileSync(join(folder, 'file'), '');
    const make =
      (runDir: string, bus: ReturnType<typeof openBus> = openBus()) =>
      () =>
        new RalphLoop(runDir, bus, { rootRunner });
    expect(make('')).toThrow('run directory is empty: RalphLoop needs the path of a folder, got ""');
    expect(make('.')).toThrow('run directory is empty: RalphLoop needs the path of a folder, got "."');
    // @ts-expect-error -- possible in JavaScript
    expect(make(folder, null)).toThrow(
      'message bus is nil: RalphLoop needs one with an append() method, got null',
    );
    expect(make(join(folder, 'gone'))).toThrow(
      `stat run directory ${join(folder, 'gone')}: no such file or folder`,
    );
    expect(make(join(folder, 'file'))).toThrow(`run directory is not a directory: ${join(folder, 'file')}`);
    expect(make('/')).toThrow(
      'project id is empty: the run directory / has no name to take it from; pass projectTask',
    );
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
  it('S1.1 S1.6 S1.7 S1.14 restarts the runner until DONE exists, also after errors', async () => {
    const { folder, attempts, loop, messages } = openTask(({ env }, attempt) => {
      if (attempt === 0) throw new Error('exit status 1');
      if (attempt === 1) return new Error('returned');
      return writeFileSync(join(env['TASK_FOLDER'] ?? '', 'DONE'), '');
    });
    await expect(loop.run()).resolves.toBeUndefined();
    expect(attempts).toEqual([0, 1, 2]);
    expect(existsSync(join(folder, 'DONE'))).toBe(true);
    expect(messages()).toEqual([
      'INFO starting root agent (restart #0)',
      'WARNING root agent failed on restart #0: exit status 1',
      'INFO starting root agent (restart #1)',
      'WARNING root agent failed on restart #1: returned',
      'INFO starting root agent (restart #2)',
      'INFO task completed (DONE marker present, no active children)',
    ]);
  });

  it('S1.7 S1.14 fails after the last restart and reports it on the bus', async () => {
    const { attempts, loop, messages } = openTask(rootRunner, { maxRestarts: 3 });
    await expect(loop.run()).rejects.toThrow(/^max restarts exceeded$/);
    expect(attempts).toEqual([0, 1, 2]);
    expect(messages().at(-1)).toBe('ERROR task failed: max restarts (3) exceeded');
    await expect(loop.run()).rejects.toThrow('max restarts exceeded');
    expect(attempts).toEqual([0, 1, 2, 0, 1, 2]);
  });

  it('S1.10 runs nothing if DONE exists, and fails if DONE is a directory', async () => {
    const done = openTask(rootRunner, { maxRestarts: 0 });
    writeFileSync(join(done.folder, 'DONE'), '');
    await done.loop.run();
    const odd = openTask(rootRunner);
    mkdirSync(join(odd.folder, 'DONE'));
    await expect(odd.loop.run()).rejects.toThrow(/^DONE is a directory$/);
    expect([...done.attempts, ...odd.attempts]).toEqual([]);
  });

  it('S1.7 S1.9 S1.30 S1.44 throws the reason of its signal, before the first run and during a run', async () => {
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

  it('S1.7 cancels the delay between two runs', async () => {
    const cancelled = new AbortController();
    const { attempts, loop } = openTask(() => void setTimeout(() => cancelled.abort(), 50), {
      restartDelay: 60,
    });
    const began = Date.now();
    await expect(loop.run(cancelled.signal)).rejects.toThrow('aborted');
    expect(Date.now() - began).toBeLessThan(10_000);
    expect(attempts).toEqual([0]);
  });

  it('S1.6 S1.14 fails on a fatal error, and returns when the runner asks to wait for a person', async () => {
    const missing = Object.assign(new Error('spawn missing ENOENT'), {
      code: 'ENOENT',
      syscall: 'spawn missing',
    });
    const fatal = openTask(() => Promise.reject(missing));
    await expect(fatal.loop.run()).rejects.toBe(missing);
    const waiting = openTask(() => Promise.reject(Object.assign(new Error('wait'), { exitCode: 42 })));
    await waiting.loop.run();
    const command = openTask(() => execFileSync('sh', ['-c', 'exit 42']));
    await command.loop.run();
    const marked = openTask(({ env }) =>
      writeFileSync(join(env['TASK_FOLDER'] ?? '', 'WAIT_WITHOUT_RESTART'), ''),
    );
    await marked.loop.run();
    const all = [fatal, waiting, command, marked];
    expect(all.map(({ attempts }) => attempts)).toEqual([[0], [0], [0], [0]]);
  });

  it.each<[string, object]>([
    ['{ fatal: true }', { fatal: true }],
    ['the code ENOENT', { code: 'ENOENT', syscall: 'open' }],
    ['the code EACCES', { code: 'EACCES' }],
    ['exit code 126', { exitCode: 126 }],
    ['exit code 127 of a command', { code: 127 }],
    ['exit code 127 of execFileSync', { status: 127 }],
    ['a fatal cause', { cause: Object.assign(new Error('spawn x'), { code: 'ENOENT' }) }],
  ])('S1.44 S1.45 ends on an error with %s, and throws it', async (_, fields) => {
    const error = Object.assign(new Error('cannot go on\nin two lines'), fields);
    const { attempts, loop, messages } = openTask((_context, attempt) => {
      if (attempt === 1) throw error;
      throw new Error('a failure');
    });
    await expect(loop.run()).rejects.toBe(error);
    expect(attempts).toEqual([0, 1]);
    expect(messages()).toContain('WARNING root agent failed on restart #1: cannot go on');
    await expect(loop.run()).rejects.toBe(error);
  });

  it('S1.44 S1.45 ends on an invalid configuration, also if the runner returns the error', async () => {
    const error = new UserError('model must be a string, got 7');
    const { attempts, loop } = openTask(() => error);
    await expect(loop.run()).rejects.toBe(error);
    expect(attempts).toEqual([0]);
  });

  it.each(['connect ECONNREFUSED 127.0.0.1:80', 'rate limit exceeded', '503 Service Unavailable'])(
    'S1.15 S1.44 counts an attempt that throws "%s", and waits for the delay only',
    async (message) => {
      const { attempts, loop, messages } = openTask(
        () => Promise.reject(Object.assign(new Error(message), { code: 'ECONNREFUSED' })),
        { maxRestarts: 2, restartDelay: 0.01 },
      );
      await expect(loop.run()).rejects.toThrow(/^max restarts exceeded$/);
      expect(attempts).toEqual([0, 1]);
      expect(messages()).toContain(`WARNING root agent failed on restart #1: ${message}`);
    },
  );

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

  it('S1.39 counts a run that times out as failed', async () => {
    const { loop, messages } = openTask(() => sleep(200), { waitTimeout: 0.05, maxRestarts: 1 });
    await expect(loop.run()).rejects.toThrow('max restarts exceeded');
    expect(messages()).toContain('WARNING root agent failed on restart #0: agent timeout');
  });
});

describe('fileBus', () => {
  it('S1.2 S1.76 keeps the messages of a loop in a file', async () => {
    const folder = openLibraryFolder();
    const path = join(folder, 'TASK-MESSAGE-BUS.md');
    writeFileSync(join(folder, 'DONE'), '');
    const bus = fileBus(path);
    const id = await bus.append({ type: 'INFO', body: 'first\n---\n', projectId: 'project', taskId: 'task' });
    expect(readMessages(busAt(path))).toMatchObject([
      { id, type: 'INFO', body: 'first\n---\n', projectId: 'project', taskId: 'task' },
    ]);
    symlinkSync(path, join(folder, 'link.md'));
    await expect(
      fileBus(join(folder, 'link.md')).append({ type: 'INFO', body: 'x', projectId: 'p', taskId: '' }),
    ).rejects.toThrow('it is a symbolic link');
    await new RalphLoop(folder, bus, { rootRunner }).run();
    await expect
      .poll(() => readMessages(busAt(path)).map(({ body }) => body))
      .toContain('task completed (DONE marker present, no active children)');
  });
});
