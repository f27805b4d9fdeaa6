import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { lives } from '../../test/rig/cli/leftovers.ts';
import { until } from '../../test/rig/cli/until.ts';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import { ownPosts } from '../../test/rig/own-posts.ts';
import { startGroup } from '../../test/rig/process-group.ts';
import { recordOf, recordRuns } from '../../test/rig/recorded-runs.ts';
import { createLoop, resumeLoop, runLoop } from './library.ts';
import type { AgentContext } from './function-agent.ts';

const DONE = { text: '<promise>DONE</promise>' };
/** Runs until its signal aborts. */
const untilAborted = async ({ signal }: AgentContext): Promise<never> => {
  if (!signal.aborted) await once(signal, 'abort');
  throw new Error('aborted');
};

describe('a loop that is done', () => {
  it('S1.51 S1.52 succeeds and warns if a recorded child outlives the wait, and leaves it alone (T024)', async () => {
    const workspace = openLibraryFolder();
    const { pgid } = startGroup();
    const workspaceFolder = join(workspace, '.ralph', 'loops', 'it');
    recordRuns(workspaceFolder, { x: recordOf(pgid) });
    const { outcome } = await runLoop({
      workspace,
      name: 'it',
      preset: 'conductor',
      prompt: 'work',
      agent: () => DONE,
      policy: { children: { waitMs: 100, pollMs: 10 } },
    });
    expect(outcome).toMatchObject({ type: 'done', childrenLeft: ['x'] });
    expect(() => process.kill(pgid, 0)).not.toThrow();
    expect(ownPosts(workspaceFolder).at(-1)).toBe('WARNING timeout waiting for children after 100ms: [x]');
  });
});

describe('a function as an agent', () => {
  it('ends with its loop if the done pattern needs too long for what it says', async () => {
    const { outcome } = await runLoop({
      prompt: 'work',
      workspace: openLibraryFolder(),
      donePattern: '(a+)+$',
      agent: () => ({ text: `${'a'.repeat(3000)}!` }),
    });
    expect(outcome).toMatchObject({ type: 'fatal' });
    expect(outcome).toHaveProperty('message', expect.stringContaining('the done pattern (a+)+$ needs more'));
  });

  it('S3.42 S3.43 S3.54 returns a result with every iteration', async () => {
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
      worktreePath: null,
      exitCode: 0,
      outcome: { type: 'done', verified: true },
    });
    // In seconds; the delay after a failure is one second.
    expect(result.totalDuration).toBeGreaterThan(1);
    expect(result.totalDuration).toBeLessThan(30);
  });

  it('gets prompt, names, workspace, environment and folder, and its answer is logged', async () => {
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
    // The model is known, so its tokens have a price.
    expect(result.totalCost).toBeGreaterThan(0);
  });

  it.each([
    ['a returned error', () => ({ text: '', error: 'out of ideas' }), 'out of ideas'],
    [
      'a return value that is not a result',
      () => Object.assign({ text: '' }, { text: undefined }),
      'must return an object',
    ],
    ['an error without a message', () => Promise.reject(new Error('')), 'without a message'],
  ])('counts %s as a failure', async (_, agent, error) => {
    const result = await runLoop({
      prompt: 'try',
      workspace: openLibraryFolder(),
      agent,
      maxIterations: 1,
    });
    expect(result.iterations[0]?.error).toContain(error);
    expect(result).toMatchObject({ success: false, stopReason: 'max_iterations', exitCode: 1 });
  });

  it('that returns something else does not compile, and the final reason names the problem', async () => {
    const { reason } = await runLoop({
      prompt: 'x',
      workspace: openLibraryFolder(),
      // @ts-expect-error -- must not match NamedAgent by its `name`
      agent: async () => 42,
      maxFailures: 1,
    });
    expect(reason).toBe(
      '1 consecutive failure; the last: the agent function must return an object with `text`',
    );
  });

  it('waits for a reported usage limit without using up an iteration', async () => {
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

  it('is aborted at its time limit, and its late answer is ignored', async () => {
    const workspace = openLibraryFolder();
    let answer: (() => void) | undefined;
    const late = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const loop = await createLoop({
      prompt: 'take your time',
      workspace,
      maxIterations: 1,
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

  it('may remove the whole folder of the loop without losing its history', async () => {
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

  it('ends the processes that it started with the environment of the run', async () => {
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
    await until(`the end of ${pid}`, () => !lives(pid) || null);
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

  it('yields every event in order, also to a late reader', async () => {
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

  it('stops after the running step when its signal aborts', async () => {
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

  it('stops at once with stop({ now: true }), and at a deadline of the signal', async () => {
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

  it('can be paused, told something, and resumed with the same function', async () => {
    const workspace = openLibraryFolder();
    const first = await createLoop({
      prompt: 'go',
      name: 'mine',
      workspace,
      agent: () => ({ text: 'not yet' }),
    });
    first.tell('use the big hammer');
    first.pause();
    expect(await first.run()).toMatchObject({ outcome: null, stopReason: 'paused', exitCode: 4 });
    await expect(resumeLoop('mine', { workspace })).rejects.toThrow('is a function of the program');
    const prompts: string[] = [];
    const agent = ({ prompt }: AgentContext) => {
      prompts.push(prompt);
      return DONE;
    };
    const second = await resumeLoop('mine', { workspace, agent });
    expect(await second.run()).toMatchObject({ success: true });
    expect(prompts.join()).toContain('use the big hammer');
    await expect(resumeLoop('mine', { workspace, agent })).rejects.toThrow('is already done');
  });

  it('can be closed without being run', async () => {
    const workspace = openLibraryFolder();
    const loop = await createLoop({ prompt: 'go', name: 'mine', workspace, agent: () => DONE });
    loop.close();
    await expect(loop.run()).rejects.toThrow('was closed');
    const resumed = await resumeLoop('mine', { workspace, agent: () => DONE });
    expect(await resumed.run()).toMatchObject({ success: true });
  });

  it('prints nothing and installs no signal handlers', async () => {
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
    expect(existsSync(join(workspace, '.ralph', 'loops', 'hush-1', 'state.json'))).toBe(true);
  });
});
