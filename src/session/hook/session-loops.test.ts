import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { outcomeOf, PROMISE, SessionProgram } from '../../../test/rig/session-program.ts';
import { readState, writeState } from '../session-file.ts';

let program: SessionProgram;
beforeEach(() => {
  program = new SessionProgram();
});
afterEach(() => program.close());

describe('a cancel', () => {
  it('S5.26 returns false without a loop, and for the session of another one', () => {
    const hook = program.hook();
    expect(hook.cancelLoop('s1')).toBe(false);
    hook.startLoop('s1', 'Fix all');
    program.toasts.length = 0;
    expect(hook.cancelLoop('s2')).toBe(false);
    expect(program.toasts).toEqual([]);
    expect(hook.isLoopActive('s1')).toBe(true);
  });

  it('S5.27 clears the state, ends the loop and shows where it stopped', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    await program.turn(hook, 's1', 'Begun.');
    const loop = hook.getState('s1')?.loop;
    expect(hook.cancelLoop('s1')).toBe(true);
    expect(existsSync(program.stateFile('s1'))).toBe(false);
    expect(program.lines.at(-1)).toBe('info Loop cancelled');
    expect(program.details.at(-1)).toEqual({ sessionId: 's1', iteration: 2 });
    expect(program.lastToast()).toEqual({
      title: 'Ralph Loop Cancelled',
      message: 'Stopped at iteration 2',
      variant: 'info',
      duration: 2000,
    });
    expect(hook.cancelLoop('s1')).toBe(false);
    await hook.settled();
    expect(outcomeOf(loop)).toBe('stopped');
    expect(hook.getState('s1')).toBeNull();
  });

  it('S5.27 returns false without a toast if the state stays', async () => {
    const stateDir = join(program.root, 'sessions');
    const hook = program.hook({ config: { stateDir } });
    hook.startLoop('s1', 'Fix all');
    rmSync(stateDir, { recursive: true });
    writeFileSync(stateDir, '');
    program.toasts.length = 0;
    expect(hook.cancelLoop('s1')).toBe(false);
    expect(program.lines.at(-1)).toContain('error Failed to clear state: ');
    expect(program.toasts).toEqual([]);
  });

  it('S5.27 before the loop was created leaves none', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    expect(hook.cancelLoop('s1')).toBe(true);
    expect(hook.getState('s1')).toBeNull();
    await hook.settled();
    expect(hook.getState('s1')).toBeNull();
    expect(existsSync(program.stateFile('s1'))).toBe(false);
  });

  it('S5.27 works in another process than the start', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    await hook.settled();
    const loop = hook.getState('s1')?.loop;
    const other = program.hook();
    expect(other.cancelLoop('s1')).toBe(true);
    await other.settled();
    expect(outcomeOf(loop)).toBe('stopped');
    expect(hook.isLoopActive('s1')).toBe(false);
  });
});

describe('the states', () => {
  it('S5.28 are found by their session, or without an id by the latest start in this folder', () => {
    const hook = program.hook();
    vi.useFakeTimers({ toFake: ['Date'] });
    hook.startLoop('s2', 'Second');
    vi.setSystemTime(Date.now() - 1000);
    hook.startLoop('s1', 'First');
    const elsewhere = program.hook({ workdir: program.root });
    vi.setSystemTime(Date.now() + 2000);
    elsewhere.startLoop('s3', 'Third');
    expect(hook.getState('s1')).toMatchObject({ prompt: 'First' });
    expect(hook.getState('s9')).toBeNull();
    expect(hook.getState()).toMatchObject({ prompt: 'Second' });
    expect(elsewhere.getState()).toMatchObject({ prompt: 'Third' });
  });

  it('S5.29 are active only for their own session', () => {
    const hook = program.hook();
    hook.startLoop('s1', 'First');
    expect([hook.isLoopActive('s1'), hook.isLoopActive('s2'), hook.isLoopActive('../s1')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('S5.29 S5.34 that are not active are ignored', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'First');
    await hook.settled();
    const state = readState('s1');
    if (state !== null) writeState('s1', { ...state, active: false });
    program.toasts.length = 0;
    expect(hook.isLoopActive('s1')).toBe(false);
    await program.turn(hook, 's1', PROMISE);
    expect(program.toasts).toEqual([]);
    expect(hook.getState('s1')).toMatchObject({ active: false, iteration: 1 });
  });

  it('S5.55 of two sessions in one folder are independent', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'First', { completionPromise: 'ONE' });
    hook.startLoop('s2', 'Second', { completionPromise: 'TWO' });
    await program.turn(hook, 's1', '<promise>TWO</promise>');
    await program.turn(hook, 's2', '<promise>TWO</promise>');
    expect([hook.isLoopActive('s1'), hook.isLoopActive('s2')]).toEqual([true, false]);
    expect(hook.cancelLoop('s2')).toBe(false);
    program.time.pass(500);
    expect(program.prompts.map(({ session }) => session)).toEqual(['s1']);
  });
});
