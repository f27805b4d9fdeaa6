import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROMISE, SessionProgram } from '../../../test/rig/session-program.ts';
import { readState, writeState } from '../session-file.ts';
import { readLoopOf } from '../../home/read-loop.ts';
import type { Hook, HookMessage, RalphLoopHook } from './types.ts';

let program: SessionProgram;
beforeEach(() => {
  program = new SessionProgram();
});
afterEach(() => program.close());

const outcomeOf = (loop: string | undefined): string | undefined =>
  readLoopOf(loop ?? '')?.state.outcome?.type;
/** A loop whose session has ended its first turn. */
const begun = async (options: Parameters<SessionProgram['hook']>[0] = {}): Promise<Hook & RalphLoopHook> => {
  const hook = program.hook(options);
  hook.startLoop('s1', 'Fix $& and "all"');
  await program.turn(hook, 's1', 'Begun.');
  return hook;
};

describe('an idle session', () => {
  it('S5.1 S5.12 S5.38 S5.39 S5.40 S5.48 goes on with the template, 500 ms later', async () => {
    const hook = await begun();
    expect(hook.getState('s1')?.iteration).toBe(2);
    expect(Date.parse(hook.getState('s1')?.lastIterationAt ?? '')).not.toBeNaN();
    expect(program.lines.at(-1)).toBe('info Continuing loop');
    expect(program.details.at(-1)).toEqual({ sessionId: 's1', iteration: 2, max: 100 });
    expect(program.lastToast()).toEqual({
      title: 'Ralph Loop',
      message: 'Iteration 2/100',
      variant: 'info',
      duration: 2000,
    });
    program.time.pass(499);
    expect(program.prompts).toEqual([]);
    program.time.pass(1);
    expect(program.prompts).toEqual([
      {
        session: 's1',
        prompt: [
          '[RALPH LOOP - ITERATION 2/100]',
          '',
          'Your previous attempt did not output the completion promise. Continue working on the task.',
          '',
          'IMPORTANT:',
          '- Review your progress so far',
          '- Continue from where you left off  ',
          '- When FULLY complete, output: <promise>DONE</promise>',
          '- Do not stop until the task is truly done',
          '',
          'Original task:',
          'Fix $& and "all"',
        ].join('\n'),
      },
    ]);
    await program.turn(hook, 's1', 'More.');
    expect(program.lastToast()?.message).toBe('Iteration 3/100');
  });

  it('S5.13 S5.16 S5.36 S5.47 is done when the agent keeps its promise', async () => {
    const hook = await begun();
    const loop = hook.getState('s1')?.loop;
    await program.turn(hook, 's2', 'Unrelated.');
    program.time.pass(500);
    await program.turn(hook, 's1', 'All is well.\n<PROMISE>\n done \n</promise>');
    expect(program.lines.at(-1)).toBe('info Completion detected!');
    expect(program.details.at(-1)).toEqual({ sessionId: 's1', iteration: 2, promise: 'DONE' });
    expect(program.lastToast()).toEqual({
      title: 'Ralph Loop Complete!',
      message: 'Task completed after 2 iteration(s)',
      variant: 'success',
      duration: 5000,
    });
    expect(hook.getState('s1')).toBeNull();
    expect(outcomeOf(loop)).toBe('done');
    program.time.pass(500);
    expect(program.prompts).toHaveLength(1);
  });

  it.each(['user', 'reasoning', 'system'])(
    'S5.16 S5.59 is not done by a tag of the role %s',
    async (role) => {
      const hook = program.hook();
      hook.startLoop('s1', 'Fix all');
      program.hears('s1', role, PROMISE);
      await program.turn(hook, 's1', 'Begun.');
      expect(hook.isLoopActive('s1')).toBe(true);
      expect(program.lastToast()?.message).toBe('Iteration 2/100');
    },
  );

  it('S5.37 S5.41 S5.42 stops at the limit after N-1 injections', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all', { maxIterations: 3 });
    for (const text of ['One.', 'Two.', 'Three.']) {
      // oxlint-disable-next-line no-await-in-loop -- turn by turn
      await program.turn(hook, 's1', text);
      program.time.pass(500);
    }
    expect(program.prompts).toHaveLength(2);
    expect(program.lines.at(-1)).toBe('info Max iterations reached');
    expect(program.details.at(-1)).toEqual({ sessionId: 's1', iteration: 3, max: 3 });
    expect(program.lastToast()).toEqual({
      title: 'Ralph Loop Stopped',
      message: 'Max iterations (3) reached without completion',
      variant: 'warning',
      duration: 5000,
    });
    expect(hook.getState('s1')).toBeNull();
  });

  it('S5.41 is done by a promise in the last permitted iteration', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all', { maxIterations: 1 });
    await program.turn(hook, 's1', PROMISE);
    expect(program.lastToast()).toMatchObject({
      title: 'Ralph Loop Complete!',
      message: 'Task completed after 1 iteration(s)',
    });
  });

  it('S5.50 is not done by a promise from before the start or from an earlier turn', async () => {
    program.hears('s1', 'assistant', PROMISE);
    const hook = await begun();
    expect(program.lastToast()?.message).toBe('Iteration 2/100');
    program.time.pass(500);
    await program.turn(hook, 's1', PROMISE);
    expect(hook.isLoopActive('s1')).toBe(false);
    hook.startLoop('s1', 'Another task');
    await program.turn(hook, 's1', 'Begun.');
    expect(program.lastToast()?.message).toBe('Iteration 2/100');
  });

  it('S5.34 without a loop is left alone', async () => {
    const hook = program.hook();
    await program.turn(hook, 's1', PROMISE);
    expect([program.toasts, program.lines, program.time.pending]).toEqual([[], [], 0]);
  });

  it('S5.9 S5.47 S5.48 goes on at the stored iteration after a restart of the program', async () => {
    const before = await begun();
    before.dispose();
    program.hears('s1', 'assistant', PROMISE.replace('DONE', 'NOT YET'));
    const after = program.hook();
    await program.turn(after, 's1', 'More.');
    expect(program.lastToast()?.message).toBe('Iteration 3/100');
    const last = program.hook();
    await program.turn(last, 's1', PROMISE);
    expect(program.lastToast()?.message).toBe('Task completed after 3 iteration(s)');
  });

  it('gets its loop now if the program ended before the loop was created', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all', { checks: ['test -e done.txt'] });
    const state = readState('s1');
    hook.cancelLoop('s1');
    await hook.settled();
    if (state !== null) writeState('s1', state);
    expect(state).not.toHaveProperty('loop');
    const later = program.hook();
    program.hears('s1', 'user', 'Fix all');
    await program.turn(later, 's1', PROMISE);
    // Its checks are known, too.
    expect(program.toasts.at(-1)).toMatchObject({ title: 'Ralph Loop: Promise Rejected' });
    expect(later.getState('s1')).toMatchObject({ iteration: 2, prompt: 'Fix all' });
  });

  it('S5.38 gets nothing if the iteration cannot be counted', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    await hook.settled();
    writeFileSync(readLoopOf(hook.getState('s1')?.loop ?? '')?.folder.journal ?? '', 'damaged\n');
    program.toasts.length = 0;
    await program.turn(hook, 's1', 'Begun.');
    expect(program.lines.at(-1)).toBe('error Failed to increment iteration');
    expect(program.details.at(-1)).toMatchObject({ sessionId: 's1' });
    expect([program.toasts, program.time.pending]).toEqual([[], 0]);
  });
});

describe('the messages of a turn', () => {
  it('S5.59 count only if they are among the last 3 of the assistant', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    await program.turn(hook, 's1', PROMISE, 'But wait.', 'One more thing.', 'And another.');
    expect(hook.isLoopActive('s1')).toBe(true);
    program.time.pass(500);
    await program.turn(hook, 's1', PROMISE, 'That', 'was it.');
    expect(hook.isLoopActive('s1')).toBe(false);
  });

  it('S5.59 may take 3000 ms, and then they are looked at in the next turn', async () => {
    let asked = 0;
    let isSlow = false;
    const messages: HookMessage[] = [];
    const hook = program.hook({
      getMessages: async () => {
        asked++;
        return isSlow ? new Promise<never>(() => {}) : [...messages];
      },
    });
    hook.startLoop('s1', 'Fix all');
    await hook.settled();
    messages.push({ role: 'assistant', content: PROMISE });
    isSlow = true;
    const idle = hook.handler({ event: 'session.idle', sessionId: 's1' });
    await expect.poll(() => asked).toBe(2);
    program.time.pass(2999);
    expect(program.lines.at(-1)).not.toContain('Failed to get messages');
    program.time.pass(1);
    await idle;
    expect(program.lines).toContain('warn Failed to get messages');
    expect(hook.isLoopActive('s1')).toBe(true);
    program.time.pass(500);
    isSlow = false;
    await hook.handler({ event: 'session.idle', sessionId: 's1' });
    expect(hook.isLoopActive('s1')).toBe(false);
  });

  it('S5.59 come from the transcript, or else from the host program', async () => {
    const path = join(program.root, 'transcript.jsonl');
    let asked = 0;
    const hook = program.hook({
      getTranscriptPath: () => path,
      getMessages: async () => {
        asked++;
        return [
          { role: 'user', content: 'Go on' },
          { role: 'assistant', content: PROMISE },
        ];
      },
    });
    const lines = [{ type: 'assistant', content: PROMISE }];
    const write = (): void => writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    write();
    hook.startLoop('s1', 'Fix all');
    await hook.settled();
    lines.push({ type: 'user', content: PROMISE }, { type: 'assistant', content: 'Begun.' });
    write();
    await hook.handler({ event: 'session.idle', sessionId: 's1' });
    expect([asked, hook.isLoopActive('s1')]).toEqual([0, true]);
    program.time.pass(500);
    writeFileSync(path, 'plain text');
    await hook.handler({ event: 'session.idle', sessionId: 's1' });
    expect([asked, hook.isLoopActive('s1')]).toEqual([1, false]);
  });

  it('S5.60 must end with the promise if the hook is strict', async () => {
    const hook = program.hook({ strict: true });
    hook.startLoop('s1', 'Fix all');
    await program.turn(hook, 's1', `I will say ${PROMISE}`);
    expect(hook.isLoopActive('s1')).toBe(true);
    program.time.pass(500);
    await program.turn(hook, 's1', `${PROMISE}\nif the last test passes.`);
    expect(hook.isLoopActive('s1')).toBe(true);
    program.time.pass(500);
    await program.turn(hook, 's1', `The last test passes.\n\n${PROMISE}\n`);
    expect(hook.isLoopActive('s1')).toBe(false);
  });

  it('count towards the limits on tokens', async () => {
    const tokens = { input: 600, output: 100, cacheRead: 0, cacheWrite: 0 };
    const messages: HookMessage[] = [];
    const hook = program.hook({ getMessages: async () => [...messages] });
    hook.startLoop('s1', 'Fix all', { maxTokens: 1000 });
    await hook.settled();
    messages.push(
      { role: 'assistant', content: 'One.', tokens },
      { role: 'assistant', content: 'Two.', tokens },
    );
    await hook.handler({ event: 'session.idle', sessionId: 's1' });
    expect(program.lastToast()).toMatchObject({ title: 'Ralph Loop Stopped', variant: 'warning' });
    expect(program.lastToast()?.message).toContain('1400 of 1000');
  });
});
