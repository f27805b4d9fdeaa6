import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROMISE, SessionProgram } from '../../../test/rig/session-program.ts';
import { createRalphCommands, type RalphCommands } from './commands.ts';
import type { Hook, RalphLoopHook } from './types.ts';

let program: SessionProgram;
let hook: Hook & RalphLoopHook;
let commands: RalphCommands;
beforeEach(() => {
  program = new SessionProgram();
  hook = program.hook();
  commands = createRalphCommands(hook, {
    injectPrompt: async (session, prompt) => {
      program.prompts.push({ session, prompt });
      program.hears(session, 'user', prompt);
    },
    showToast: (toast) => void program.toasts.push(toast),
  });
});
afterEach(() => program.close());

describe('/ralph', () => {
  it('S5.43 S5.44 S5.48 starts a loop and injects the task', async () => {
    const text = '"Fix all $&" --max-iterations=25 --completion-promise=ALL_FIXED';
    expect(await commands.ralph('s1', text)).toBe(true);
    expect(hook.getState('s1')).toMatchObject({
      prompt: 'Fix all $&',
      maxIterations: 25,
      completionPromise: 'ALL_FIXED',
      iteration: 1,
    });
    expect(program.prompts).toHaveLength(1);
    expect(program.prompts[0]).toHaveProperty('session', 's1');
    expect(program.prompts[0]?.prompt).toMatch(/^<ralph-loop-mode [^]*\n<\/ralph-loop-mode>\n\nFix all \$&$/);
    // The prompt names the promise, and that does not keep it.
    await program.turn(hook, 's1', 'Begun.');
    expect(program.lastToast()?.message).toBe('Iteration 2/25');
  });

  it('S5.43 injects nothing if the loop was not started', async () => {
    expect(await commands.ralph('s1', 'Fix all --max-iterations=many')).toBe(false);
    expect(program.lastToast()).toMatchObject({
      title: 'Ralph Loop Not Started',
      message: '--max-iterations must be a whole number >= 1, got "many"',
    });
    expect(await commands.ralph('no/session', 'Fix all')).toBe(false);
    expect(program.prompts).toEqual([]);
    expect(hook.getState('s1')).toBeNull();
  });

  it('S5.61 without a task has the default one, and its checks hold', async () => {
    await commands.ralph('s1', '--check "test -e done.txt"');
    expect(hook.getState('s1')?.prompt).toBe('Complete the task as instructed');
    await program.turn(hook, 's1', PROMISE);
    expect(program.lastToast()?.message).toBe('Failing: test -e done.txt');
  });
});

describe('/cancel-ralph', () => {
  it('S5.45 S5.48 cancels the loop', async () => {
    await commands.ralph('s1', 'Fix all');
    expect(await commands.cancelRalph('s1')).toBe(true);
    expect(program.lastToast()?.title).toBe('Ralph Loop Cancelled');
    expect(hook.getState('s1')).toBeNull();
  });

  it('S5.45 says that there is none', async () => {
    expect(await commands.cancelRalph('s1')).toBe(false);
    expect(program.toasts).toEqual([
      { title: 'No Active Loop', message: 'No Ralph Loop is currently running', variant: 'info' },
    ]);
  });
});

describe('a message', () => {
  it.each([
    ['/ralph Fix all', 'Fix all'],
    ['/loop "Fix all" --max-iterations=7', 'Fix all'],
    ['/autonomous Fix all', 'Fix all'],
    ['Use ralph mode and fix all', 'Use ralph mode and fix all'],
    ['Fix "all" --quickly in a Ralph loop', 'Fix "all" --quickly in a Ralph loop'],
  ])('S5.58 starts a loop and gets a block about it: %j', async (message, task) => {
    const max = message.includes('=7') ? 7 : 100;
    const first = await commands.startFrom('s1', message);
    expect(first).toMatch(new RegExp(`^<ralph-loop-mode iteration="1" max="${max}">\n`));
    expect(first).toContain('<promise>DONE</promise>');
    expect(first).toContain(`</ralph-loop-mode>\n\n${task}`);
    expect(hook.getState('s1')).toMatchObject({ prompt: task, maxIterations: max });
    expect(program.prompts).toEqual([]);
  });

  it.each([
    'Fix all',
    '/ralphing x',
    '/ralph',
    'see docs/ralph for more',
    'a loop for ralph',
    'Say /ralph x',
  ])('S5.58 without such a word starts none: %j', async (message) => {
    expect(await commands.startFrom('s1', message)).toBeNull();
    expect(hook.getState('s1')).toBeNull();
  });
});
