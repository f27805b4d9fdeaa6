import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import { createLoop, resumeLoop, runLoop } from './library.ts';
import type { AgentContext } from './function-agent.ts';

const DONE = { text: '<promise>DONE</promise>' };
/** Ends with its signal, as a well-behaved function does. */
const untilAborted = async ({ signal }: AgentContext): Promise<never> => {
  if (!signal.aborted) await once(signal, 'abort');
  throw new Error('aborted');
};

describe('a function as an agent', () => {
  it('S3.42 S3.43 S3.54 gives a result with every iteration in it', async () => {
    const workspace = openLibraryFolder();
    const result = await runLoop({
      prompt: 'make x',
      workspace,
      checks: ['echo looking; test -f x'],
      agent: async ({ iteration, report }) => {
        if (iteration === 1) throw new Error('no luck');
        report({ type: 'tool.start', id: '1', name: 'Edit', input: 'x' });
        report({ type: 'tool.end', id: '1' });
        if (iteration === 3) writeFileSync(join(workspace, 'x'), '');
        return { ...DONE, costUsd: 0.25, tokens: { input: 10 }, ...(iteration === 3 ? { steps: 7 } : {}) };
      },
    });
    const looked = { name: 'echo looking; test -f x', output: 'looking\n' };
    expect(result).toMatchObject({
      iterations: [
        { iteration: 1, stepsTaken: 0, cost: 0, checkResults: [], error: 'no luck', allChecksPassed: false },
        {
          iteration: 2,
          stepsTaken: 1,
          cost: 0.25,
          checkResults: [{ ...looked, passed: false }],
          allChecksPassed: false,
          completionTagFound: true,
          error: null,
        },
        { stepsTaken: 7, cost: 0.25, checkResults: [{ ...looked, passed: true }], allChecksPassed: true },
      ],
      totalIterations: 3,
      totalCost: 0.5,
      success: true,
      stopReason: 'all_checks_passed',
      worktreePath: '',
      exitCode: 0,
      outcome: { type: 'done', verified: true },
    });
    // Seconds: the wait after a failure is one.
    expect(result.totalDuration).toBeGreaterThan(1);
    expect(result.totalDuration).toBeLessThan(30);
  });

  it('S3.59 gets prompt, names, workspace, environment and folder, and its words are in the logs', async () => {
    const workspace = openLibraryFolder();
    const seen: AgentContext[] = [];
    const loop = await createLoop({
      prompt: 'look around',
      workspace,
      env: { COLOUR: 'blue' },
      agent: {
        name: 'build',
        model: 'claude-sonnet-4-5',
        run: (context) => {
          seen.push(context);
          return { ...DONE, tokens: { input: 1000, output: 1000 } };
        },
      },
    });
    const result = await loop.run();
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      agent: 'build',
      model: 'claude-sonnet-4-5',
      iteration: 1,
      run: '1.1',
      workspace,
    });
    expect(seen[0]?.prompt).toContain('look around');
    expect(seen[0]?.env).toMatchObject({ COLOUR: 'blue', RALPH_LOOP: loop.name, RALPH_ITERATION: '1' });
    expect(seen[0]?.folder).toBe(join(loop.folder, 'runs', '0001'));
    expect(readFileSync(join(loop.folder, 'runs', '0001', 'stdout.log'), 'utf8')).toContain('DONE');
    // Tokens have a price where their model is known.
    expect(result.totalCost).toBeGreaterThan(0);
  });

  it.each([
    ['an error that is returned', () => ({ text: '', error: 'out of ideas' }), 'out of ideas'],
    [
      'something that is no result',
      () => Object.assign({ text: '' }, { text: undefined }),
      'must return an object',
    ],
    ['something that is no error', () => Promise.reject(new Error('')), 'without a message'],
  ])('S3.54 counts %s as a failure', async (_, agent, error) => {
    const result = await runLoop({
      prompt: 'try',
      workspace: openLibraryFolder(),
      agent,
      maximumIterations: 1,
    });
    expect(result.iterations[0]?.error).toContain(error);
    expect(result).toMatchObject({ success: false, stopReason: 'max_iterations', exitCode: 1 });
  });

  it('that gives back something else does not compile, and the reason of the end says what is wrong', async () => {
    const { reason } = await runLoop({
      prompt: 'x',
      workspace: openLibraryFolder(),
      // @ts-expect-error -- a function has a name, which does not make it an agent
      agent: async () => 42,
      maxFailures: 1,
    });
    expect(reason).toBe(
      '1 consecutive failure; the last: the agent function must return an object with `text`',
    );
  });

  it('waits for a usage limit that it reports, and charges nothing', async () => {
    const agent = ({ run, report }: AgentContext) => {
      if (run !== '1.1') return DONE;
      report({ type: 'limit', message: 'usage limit reached', resetsAt: Date.now() + 20 });
      return { text: '', error: 'usage limit reached' };
    };
    const spec = {
      prompt: 'try',
      workspace: openLibraryFolder(),
      agent,
      policy: { delay: { usageLimitLadderMs: [1] } },
    };
    expect(await runLoop(spec)).toMatchObject({ totalIterations: 1, success: true });
  });

  it('is told to end at its time limit, and left to itself when it does not; its late answer is ignored', async () => {
    const workspace = openLibraryFolder();
    let answer: (() => void) | undefined;
    const late = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const loop = await createLoop({
      prompt: 'take your time',
      workspace,
      maximumIterations: 1,
      iterationTimeout: '50ms',
      killGrace: '50ms',
      agent: async ({ signal, report }) => {
        await late;
        expect(signal.aborted).toBe(true);
        report({ type: 'text', text: 'too late' });
        return DONE;
      },
    });
    const result = await loop.run();
    answer?.();
    await sleep(20);
    expect(result).toMatchObject({ success: false, iterations: [{ error: 'agent timeout' }] });
    expect(readFileSync(join(loop.folder, 'runs', '0001', 'stdout.log'), 'utf8')).toBe('');
  });

  it('may remove the whole folder of the loop: nothing is lost', async () => {
    const workspace = openLibraryFolder();
    const result = await runLoop({
      prompt: 'clean up',
      workspace,
      agent: async ({ iteration }) => {
        await sleep(20);
        rmSync(join(workspace, '.ralph'), { recursive: true });
        return iteration === 1 ? { text: 'cleaned', costUsd: 1 } : { ...DONE, costUsd: 1 };
      },
    });
    expect(result).toMatchObject({ success: true, totalIterations: 2, totalCost: 2 });
  });

  it('takes what it started with the environment of its run with it', async () => {
    let pid = 0;
    await runLoop({
      prompt: 'start something',
      workspace: openLibraryFolder(),
      agent: async ({ env }) => {
        const child = spawn('sleep', ['1000'], { env, detached: true, stdio: 'ignore' });
        child.unref();
        pid = child.pid ?? 0;
        return DONE;
      },
    });
    expect(pid).toBeGreaterThan(0);
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
  });
});

describe('a loop', () => {
  it('runs any command', async () => {
    const workspace = openLibraryFolder();
    const agent = { command: ['sh', '-c', 'cat >/dev/null; echo "<promise>DONE</promise>"'] };
    expect(await runLoop({ prompt: 'say it', workspace, agent })).toMatchObject({
      success: true,
      stopReason: 'done',
    });
  });

  it('tells everything that happens, in order and to its end, also to whoever comes late', async () => {
    const loop = await createLoop({
      prompt: 'say it',
      workspace: openLibraryFolder(),
      agent: async () => DONE,
    });
    const run = loop.run();
    const seen: string[] = [];
    for await (const { type } of loop.events) seen.push(type);
    await run;
    expect(seen[0]).toBe('loop.created');
    expect(seen.indexOf('text')).toBeGreaterThan(seen.indexOf('run.started'));
    expect(seen.at(-1)).toBe('loop.ended');
    const again: string[] = [];
    for await (const { type } of loop.events) again.push(type);
    expect(again).toEqual(seen);
  });

  it('stops after the running step when its signal is aborted', async () => {
    const stopping = new AbortController();
    const result = await runLoop({
      prompt: 'go on',
      workspace: openLibraryFolder(),
      signal: stopping.signal,
      agent: async ({ signal }) => {
        stopping.abort();
        await sleep(20);
        expect(signal.aborted).toBe(false);
        return { text: 'one more thing' };
      },
    });
    expect(result).toMatchObject({ totalIterations: 1, stopReason: 'stopped', exitCode: 130 });
    expect(result.reason).toBe('cancelled by a signal');
  });

  it('ends at a deadline of its caller, and in the middle of a step if that is asked for', async () => {
    const workspace = openLibraryFolder();
    const loop = await createLoop({ prompt: 'wait', workspace, agent: untilAborted });
    const run = loop.run();
    for await (const { type } of loop.events) if (type === 'run.started') break;
    loop.stop({ now: true });
    expect(await run).toMatchObject({ outcome: { type: 'stopped', by: 'person' } });
    const signal = AbortSignal.timeout(1);
    await once(signal, 'abort');
    const late = await runLoop({ prompt: 'wait', workspace, agent: untilAborted, signal });
    expect(late).toMatchObject({ totalIterations: 0, reason: 'deadline exceeded' });
  });

  it('can be paused, told something, and taken up again by a program that has the function', async () => {
    const workspace = openLibraryFolder();
    const first = await createLoop({
      prompt: 'go',
      name: 'mine',
      workspace,
      agent: () => ({ text: 'not yet' }),
    });
    first.tell('use the big hammer');
    first.pause();
    expect(await first.run()).toMatchObject({ outcome: null, stopReason: 'paused', exitCode: 0 });
    await expect(resumeLoop('mine', { workspace })).rejects.toThrow('is a function of the program');
    const prompts: string[] = [];
    const agent = ({ prompt }: AgentContext) => {
      prompts.push(prompt);
      return DONE;
    };
    const second = await resumeLoop('mine', { workspace, agent });
    expect(await second.run()).toMatchObject({ success: true });
    expect(prompts.join()).toContain('use the big hammer');
    await expect(resumeLoop('mine', { workspace, agent })).rejects.toThrow('is done');
  });

  it('can be let go without being run', async () => {
    const workspace = openLibraryFolder();
    const loop = await createLoop({ prompt: 'go', name: 'mine', workspace, agent: () => DONE });
    loop.close();
    await expect(loop.run()).rejects.toThrow('was closed');
    const resumed = await resumeLoop('mine', { workspace, agent: () => DONE });
    expect(await resumed.run()).toMatchObject({ success: true });
  });

  it('prints nothing and touches no handler of signals', async () => {
    const printed = vi.spyOn(process.stdout, 'write');
    const warned = vi.spyOn(process.stderr, 'write');
    onTestFinished(() => void [printed, warned].map((spy) => spy.mockRestore()));
    const handled = () => ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'].map((name) => process.listenerCount(name));
    const before = handled();
    const workspace = openLibraryFolder();
    await runLoop({
      prompt: 'hush',
      workspace,
      agent: () => {
        expect(handled()).toEqual(before);
        return DONE;
      },
    });
    expect([printed.mock.calls, warned.mock.calls]).toEqual([[], []]);
    expect(existsSync(join(workspace, '.ralph', 'loops', 'hush-1', 'journal.jsonl'))).toBe(true);
  });
});

describe('what is wrong with a spec', () => {
  const agent = () => DONE;
  it.each([
    ['nothing to do', { agent }, 'prompt or promptFile must be given'],
    ['two prompts', { agent, prompt: 'a', promptFile: 'b' }, 'cannot both be given'],
    [
      'a prompt that is not there',
      { agent, promptFile: 'gone.md' },
      /cannot read promptFile .*gone.md: no such file or folder/,
    ],
    ['a typo', { agent, prompt: 'a', maxIterations: 3 }, 'did you mean maximumIterations?'],
    ['no agent', { prompt: 'a' }, 'agent must be the name of a known agent'],
    ['an unknown agent', { prompt: 'a', agent: 'claud' }, 'did you mean claude?'],
    [
      'a command that is not there',
      { prompt: 'a', agent: { command: ['./nobody'] } },
      'agent command not found',
    ],
    ['an impossible limit', { prompt: 'a', agent, maximumIterations: -1 }, 'maximumIterations must be'],
    ['an impossible time', { prompt: 'a', agent, maxTime: 'soon' }, 'maxTime must be a time'],
    ['an impossible check', { prompt: 'a', agent, checks: [''] }, 'checks[0].command must be'],
    ['an unknown preset', { prompt: 'a', agent, preset: 'mine' }, 'preset must be one of'],
    [
      'a folder that is not there',
      { prompt: 'a', agent, workspace: '/nowhere' },
      'workspace must be a folder',
    ],
    ['a bad name', { prompt: 'a', agent, name: '../x' }, 'bad name'],
    [
      'tasks without a program',
      { prompt: 'a', agent, scm: { tasks: ['commit'] } },
      'scm.command must be given',
    ],
    [
      'an impossible policy',
      { prompt: 'a', agent, policy: { children: { waitMs: 'x' } } },
      'children.waitMs must be',
    ],
  ])('is told: %s', async (_, spec, message) => {
    const workspace = openLibraryFolder();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what only a program without types would say
    const wrong = createLoop({ workspace, ...spec } as never);
    await expect(wrong).rejects.toThrow(message);
    await expect(wrong).rejects.toMatchObject({ name: 'UserError' });
  });
});

it('says what is wrong with what no type has checked, and keeps no name', async () => {
  const workspace = openLibraryFolder();
  const spec = {
    prompt: 'x',
    agent: async () => ({ text: '<promise>DONE</promise>' }),
    workspace,
    name: 'q',
  };
  for (const [wrong, message] of [
    [{ signal: {} }, 'signal must be an AbortSignal'],
    [{ checks: 'true' }, 'checks must be a list'],
    [{ name: 5 }, 'name must be a text'],
    [{ env: { A: 1 } }, 'env must be an object of texts'],
    [{ agent: { command: 'sh -c true' } }, 'agent.command must be a list of words'],
  ] as const) {
    // oxlint-disable-next-line no-await-in-loop, typescript/no-unsafe-type-assertion -- what a program without types may do
    await expect(runLoop({ ...spec, ...wrong } as never)).rejects.toThrow(message);
  }
  expect((await runLoop(spec)).success).toBe(true);
});
