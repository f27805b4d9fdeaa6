import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { outcomeOf, PROMISE, SessionProgram } from '../../../test/rig/session-program.ts';
import * as api from '../../hook.ts';
import { readLoopOf } from '../../home/read-loop.ts';
import type { RalphLoopConfig } from './types.ts';

let program: SessionProgram;
beforeEach(() => {
  program = new SessionProgram();
});
afterEach(() => program.close());

describe('the hook', () => {
  it('S5.18 S5.21 is one object with the fields of a hook and the methods for loops', () => {
    const hook = api.createRalphLoopHook();
    expect(hook).toMatchObject({
      name: 'ralph-loop',
      description: 'Agentic iteration loop for autonomous task completion',
      priority: 50,
      events: ['session.idle', 'session.error', 'session.deleted'],
    });
    for (const method of ['handler', 'startLoop', 'cancelLoop', 'getState', 'isLoopActive'] as const)
      expect(hook[method]).toBeTypeOf('function');
  });

  it('S5.6 S5.7 S5.22 comes with its constants and functions', async () => {
    expect(api.HOOK_NAME).toBe('ralph-loop');
    expect([api.DEFAULT_MAX_ITERATIONS, api.DEFAULT_COMPLETION_PROMISE]).toEqual([100, 'DONE']);
    expect(api.DEFAULT_CONTINUATION_DELAY).toBe(500);
    expect(api.DEFAULT_CONFIG).toEqual({
      enabled: true,
      defaultMaxIterations: 100,
      defaultCompletionPromise: 'DONE',
      continuationDelay: 500,
    });
    expect(api.CONTINUATION_PROMPT_TEMPLATE).toMatch(
      /^\[RALPH LOOP - ITERATION \{\{ITERATION\}\}\/\{\{MAX\}\}\]/,
    );
    expect(api.CONTINUATION_PROMPT_TEMPLATE).toMatch(/- Continue from where you left off {2}\n/);
    expect([api.readState('s1'), api.incrementIteration('s1'), api.clearState('s1')]).toEqual([
      null,
      null,
      true,
    ]);
    expect(api.writeState).toBeTypeOf('function');
    expect(api.detectCompletionPromise(PROMISE, 'DONE')).toBe(true);
    expect(await api.detectInMessages([{ role: 'assistant', content: PROMISE }], 'DONE')).toBe(true);
  });

  it('S5.5 S5.19 S5.20 works without any option: in the current folder, and nothing is told to anyone', async () => {
    const before = process.cwd();
    onTestFinished(() => process.chdir(before));
    process.chdir(program.workdir);
    const hook = api.createRalphLoopHook();
    expect([hook.getState('s1'), hook.isLoopActive('s1'), hook.cancelLoop('s1')]).toEqual([
      null,
      false,
      false,
    ]);
    expect(hook.startLoop('s1', 'Look around')).toBe(true);
    await hook.settled();
    expect(hook.getState('s1')).toMatchObject({ workdir: program.workdir, iteration: 1 });
    await hook.handler({ event: 'session.idle', sessionId: 's1' });
    expect(hook.getState('s1')).toMatchObject({ iteration: 2 });
    expect(hook.cancelLoop('s1')).toBe(true);
    await hook.settled();
  });

  it('S5.19 calls its options with the session, and a toast is an object', async () => {
    const calls: unknown[] = [];
    const hook = program.hook({
      config: { defaultMaxIterations: 7, continuationDelay: 20 },
      workdir: program.workdir,
      getMessages: async (...given) => {
        calls.push(['getMessages', ...given]);
        return [];
      },
      injectPrompt: async (...given) => void calls.push(['injectPrompt', ...given]),
      showToast: (...given) => void calls.push(['showToast', ...given]),
      checkSessionExists: async (...given) => {
        calls.push(['checkSessionExists', ...given]);
        return true;
      },
    });
    hook.startLoop('s1', 'Fix it');
    await program.turn(hook, 's1');
    program.time.pass(19);
    expect(calls.flat()).not.toContain('injectPrompt');
    program.time.pass(1);
    await program.turn(hook, 's2');
    const toast = (title: string, message: string, duration: number): unknown[] => [
      'showToast',
      { title, message, variant: 'info', duration },
    ];
    expect(calls).toEqual([
      ['getMessages', 's1'],
      toast('Ralph Loop Started', 'Max 7 iterations. Complete with <promise>DONE</promise>', 3000),
      ['getMessages', 's1'],
      toast('Ralph Loop', 'Iteration 2/7', 2000),
      ['injectPrompt', 's1', expect.stringContaining('[RALPH LOOP - ITERATION 2/7]')],
      ['checkSessionExists', 's1'],
    ]);
  });

  it('S5.3 S5.20 merges its config over the defaults', () => {
    const config: RalphLoopConfig = {
      enabled: true,
      defaultMaxIterations: 7,
      defaultCompletionPromise: 'FIXED',
      continuationDelay: 10,
      stateDir: join(program.root, 'elsewhere'),
    };
    program.hook({ config }).startLoop('s1', 'Fix it');
    program.hook({ config: { defaultMaxIterations: 8 } }).startLoop('s1', 'Fix it');
    expect(api.readState('s1', config.stateDir)).toMatchObject({
      maxIterations: 7,
      completionPromise: 'FIXED',
    });
    expect(api.readState('s1')).toMatchObject({ maxIterations: 8, completionPromise: 'DONE' });
  });

  it('S5.54 keeps a default if its config value is undefined', async () => {
    const hook = program.hook({
      config: {
        enabled: undefined,
        defaultMaxIterations: undefined,
        defaultCompletionPromise: undefined,
        continuationDelay: undefined,
        stateDir: undefined,
      },
    });
    expect(hook.startLoop('s1', 'Fix it', { maxIterations: undefined, completionPromise: undefined })).toBe(
      true,
    );
    expect(hook.getState('s1')).toMatchObject({ maxIterations: 100, completionPromise: 'DONE' });
    await program.turn(hook, 's1', 'Begun.');
    program.time.pass(499);
    expect(program.prompts).toHaveLength(0);
    program.time.pass(1);
    expect(program.prompts).toHaveLength(1);
  });

  it('S5.20 survives callbacks that fail', async () => {
    const broken = (): never => {
      throw new Error('oops');
    };
    const hook = program.hook({
      getMessages: broken,
      getTranscriptPath: broken,
      injectPrompt: broken,
      showToast: broken,
      checkSessionExists: broken,
      log: { info: broken, warn: broken, error: broken },
    });
    expect(hook.startLoop('s1', 'Fix all')).toBe(true);
    await hook.settled();
    await program.turn(hook, 's1', 'Begun.');
    program.time.pass(500);
    await program.turn(hook, 's2', 'Hello.');
    expect(hook.getState('s1')).toMatchObject({ active: true, iteration: 2 });
    expect(hook.cancelLoop('s1')).toBe(true);
  });

  it('S5.51 does nothing if it is not enabled', async () => {
    const on = program.hook();
    on.startLoop('s1', 'Fix it');
    await on.settled();
    program.toasts.length = 0;
    const off = program.hook({ config: { enabled: false } });
    expect(off.startLoop('s2', 'Fix it')).toBe(false);
    await program.turn(off, 's1', PROMISE);
    await off.handler({ event: 'session.deleted', sessionId: 's1' });
    await off.handler({ event: 'session.error', sessionId: 's1', data: { error: { name: 'AbortError' } } });
    expect(program.toasts).toEqual([]);
    expect(on.isLoopActive('s1')).toBe(true);
    expect(existsSync(program.stateFile('s2'))).toBe(false);
  });
});

describe('a start', () => {
  it('S5.2 S5.4 S5.8 S5.23 S5.25 writes the state at once and returns true', () => {
    const hook = program.hook();
    const options = { maxIterations: 25, completionPromise: 'ALL_FIXED', description: 'types' };
    expect(hook.startLoop('s1', 'Fix all', options)).toBe(true);
    const state: unknown = JSON.parse(readFileSync(program.stateFile('s1'), 'utf8'));
    expect(state).toMatchObject({
      active: true,
      iteration: 1,
      maxIterations: 25,
      completionPromise: 'ALL_FIXED',
      prompt: 'Fix all',
      sessionId: 's1',
      description: 'types',
    });
    expect(hook.getState('s1')?.startedAt).toBe(
      new Date(Date.parse(hook.getState('s1')?.startedAt ?? '')).toISOString(),
    );
    expect(hook.getState('s1')).toEqual(state);
  });

  it('S5.24 is logged and shown in a toast once the loop is there', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all', { maxIterations: 25, completionPromise: 'ALL_FIXED' });
    await hook.settled();
    expect(program.lines.at(-1)).toBe('info Loop started');
    expect(program.details.at(-1)).toEqual({
      sessionId: 's1',
      maxIterations: 25,
      completionPromise: 'ALL_FIXED',
    });
    expect(program.toasts).toEqual([
      {
        title: 'Ralph Loop Started',
        message: 'Max 25 iterations. Complete with <promise>ALL_FIXED</promise>',
        variant: 'info',
        duration: 3000,
      },
    ]);
  });

  it('S5.10 S5.25 returns false without a toast if the state cannot be written', async () => {
    const stateDir = join(program.root, 'a-file');
    writeFileSync(stateDir, '');
    const hook = program.hook({ config: { stateDir } });
    expect(hook.startLoop('s1', 'Fix all')).toBe(false);
    await hook.settled();
    expect(program.toasts).toEqual([]);
    expect(program.lines.at(-1)).toContain('error Failed to write state: ');
  });

  it('S5.9 warns on the console by default', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    mkdirSync(dirname(program.stateFile('s1')), { recursive: true });
    writeFileSync(program.stateFile('s1'), '{');
    expect(api.readState('s1')).toBeNull();
    expect(warn.mock.calls[0]?.[0]).toMatch(/^\[ralph-loop\] Failed to read state: /);
  });

  it('S5.9 S5.23 replaces an invalid state', async () => {
    const hook = program.hook();
    mkdirSync(dirname(program.stateFile('s1')), { recursive: true });
    writeFileSync(program.stateFile('s1'), '{ "active": tr');
    await program.turn(hook, 's1', 'Hello.');
    expect(hook.getState('s1')).toBeNull();
    expect(program.lines.filter((line) => line.startsWith('warn Failed to read state: '))).not.toEqual([]);
    expect(program.toasts).toEqual([]);
    expect(hook.startLoop('s1', 'Fix all')).toBe(true);
    expect(hook.isLoopActive('s1')).toBe(true);
  });

  it.each([
    ['no/session', 'Fix all', {}, 'invalid session id'],
    ['s1', '  ', {}, 'the prompt is required'],
    ['s1', 'Fix all', { maxIterations: 0 }, 'maxIterations must be a whole number >= 1, got 0'],
    ['s1', 'Fix all', { maxIterations: Number.NaN }, 'got NaN'],
    ['s1', 'Fix all', { completionPromise: ' ' }, 'completionPromise must not be empty'],
  ])('is refused with a toast for session %j, prompt %j and %j', (session, prompt, options, message) => {
    const hook = program.hook();
    expect(hook.startLoop(session, prompt, options)).toBe(false);
    expect(program.lastToast()).toMatchObject({ title: 'Ralph Loop Not Started', variant: 'error' });
    expect(program.lastToast()?.message).toContain(message);
    expect(hook.getState(session)).toBeNull();
  });

  it('S5.24 is taken back with one toast, which says why, if the loop cannot be created', async () => {
    const hook = program.hook();
    mkdirSync(join(program.workdir, '.ralph'));
    writeFileSync(
      join(program.workdir, '.ralph', 'settings.json'),
      '{ "checks": [{ "command": "rm -rf build" }] }',
    );
    expect(hook.startLoop('s1', 'Fix all')).toBe(true);
    expect(await hook.loopStarted('s1')).toBeNull();
    expect(hook.getState('s1')).toBeNull();
    expect(program.toasts).toMatchObject([{ title: 'Ralph Loop Not Started', variant: 'error' }]);
    expect(program.lines).not.toContain('info Loop started');
    expect(program.lastToast()?.message).toContain('not trusted');
  });

  it('works with a state folder in the workspace', async () => {
    vi.stubEnv('RALPH_STATE', join(program.workdir, '.ralph-state'));
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    expect(await hook.loopStarted('s1')).not.toBeNull();
  });

  it('S5.62 in the same session goes back to iteration 1 with the new task and ends the earlier loop', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'First task');
    await program.turn(hook, 's1', 'Begun.');
    const first = hook.getState('s1');
    expect(first?.iteration).toBe(2);
    expect(hook.startLoop('s1', 'Second task')).toBe(true);
    expect(hook.getState('s1')).toMatchObject({ iteration: 1, prompt: 'Second task' });
    await hook.settled();
    expect(outcomeOf(first?.loop)).toBe('stopped');
    program.time.pass(500);
    expect(program.prompts).toEqual([]);
    await program.turn(hook, 's1', 'Begun.');
    program.time.pass(500);
    expect(program.prompts.map(({ prompt }) => prompt)).toEqual([expect.stringContaining('Second task')]);
  });

  it('S5.62 twice before anything was created leaves one loop', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'First task');
    hook.startLoop('s1', 'Second task');
    hook.cancelLoop('s1');
    hook.startLoop('s1', 'Third task');
    expect(hook.getState('s1')).toMatchObject({ prompt: 'Third task' });
    expect((await hook.loopStarted('s1'))?.prompt).toContain('Third task');
    await hook.settled();
    const state = hook.getState('s1');
    expect(state).toMatchObject({ prompt: 'Third task', iteration: 1 });
    expect(readLoopOf(state?.loop ?? '')?.state.outcome).toBeNull();
  });

  it('S5.62 works at once after an abort', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'First task');
    await hook.handler({ event: 'session.error', sessionId: 's1', data: { error: { name: 'AbortError' } } });
    hook.startLoop('s1', 'Second task');
    await program.turn(hook, 's1', 'Begun.');
    program.time.pass(500);
    expect(program.prompts.map(({ prompt }) => prompt)).toEqual([expect.stringContaining('Second task')]);
  });
});
