import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROMISE, removeLoopOf, SessionProgram, stopLoopOf } from '../../../test/rig/session-program.ts';
import { readLoopOf } from '../../home/read-loop.ts';
import type { Hook, RalphLoopHook } from './types.ts';

let program: SessionProgram;
beforeEach(() => {
  program = new SessionProgram();
});
afterEach(() => program.close());

const fails = (hook: Hook, session: string, error: object): Promise<unknown> =>
  hook.handler({ event: 'session.error', sessionId: session, data: { error } });
const outcomeOf = (loop: string | undefined): string | undefined =>
  readLoopOf(loop ?? '')?.state.outcome?.type;
/** A loop whose session has ended its first turn, with an injection pending. */
const begun = async (options: Parameters<SessionProgram['hook']>[0] = {}): Promise<Hook & RalphLoopHook> => {
  const hook = program.hook(options);
  hook.startLoop('s1', 'Fix all');
  await program.turn(hook, 's1', 'Begun.');
  return hook;
};

describe('a pending injection', () => {
  it('S5.52 is made once, and counted once, if the session goes idle again', async () => {
    const hook = await begun();
    await program.turn(hook, 's1');
    await Promise.all([program.turn(hook, 's1'), program.turn(hook, 's1')]);
    expect(hook.getState('s1')?.iteration).toBe(2);
    program.time.pass(5000);
    expect(program.prompts).toHaveLength(1);
    expect(program.time.pending).toBe(0);
  });

  it('S5.52 is one for idle events that come at the same time', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    await Promise.all([program.turn(hook, 's1', 'Begun.'), program.turn(hook, 's1')]);
    program.time.pass(500);
    expect([hook.getState('s1')?.iteration, program.prompts.length]).toEqual([2, 1]);
  });

  it.each<[string, (hook: Hook & RalphLoopHook) => unknown]>([
    ['cancelled', (hook) => hook.cancelLoop('s1')],
    ['aborted', (hook) => fails(hook, 's1', { name: 'AbortError' })],
    ['deleted', (hook) => hook.handler({ event: 'session.deleted', sessionId: 's1' })],
  ])('S5.52 is dropped with its timer if the loop is %s meanwhile', async (_, end) => {
    const hook = await begun();
    await end(hook);
    expect(program.time.pending).toBe(0);
    program.time.pass(500);
    expect(program.prompts).toEqual([]);
    await hook.settled();
  });

  it('S5.52 is not made if another process has cancelled the loop meanwhile', async () => {
    const hook = await begun();
    const other = program.hook();
    other.cancelLoop('s1');
    await other.settled();
    program.time.pass(500);
    expect(program.prompts).toEqual([]);
    expect(hook.isLoopActive('s1')).toBe(false);
  });

  it.each([
    ['stopped', 'cancelled by a person'],
    ['removed', 'was removed'],
  ] as const)(
    'S5.52 is not made if the loop was %s in a terminal meanwhile, and the session is told',
    async (how, words) => {
      const hook = await begun();
      await (how === 'removed' ? removeLoopOf : stopLoopOf)(hook.getState('s1'));
      program.time.pass(500);
      expect([program.prompts, program.time.pending]).toEqual([[], 0]);
      expect(program.lastToast()).toMatchObject({ title: 'Ralph Loop Stopped' });
      expect(program.lastToast()?.message).toContain(words);
      expect(hook.getState('s1')).toBeNull();
    },
  );

  it('S5.52 does not come from a step during which the loop was cancelled', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    await hook.settled();
    const loop = hook.getState('s1')?.loop;
    const idle = program.turn(hook, 's1', 'Begun.');
    hook.cancelLoop('s1');
    await idle;
    await hook.settled();
    program.time.pass(500);
    expect(program.prompts).toEqual([]);
    expect([hook.getState('s1'), outcomeOf(loop)]).toEqual([null, 'stopped']);
  });

  it('S5.52 does not come from a step whose checks were running: a cancel ends them', async () => {
    const hook = program.hook();
    const check = 'touch running; sleep 60';
    hook.startLoop('s1', 'Fix all', { checks: [check] });
    await hook.settled();
    const idle = program.turn(hook, 's1', PROMISE);
    await expect.poll(() => existsSync(join(program.workdir, 'running'))).toBe(true);
    expect(hook.cancelLoop('s1')).toBe(true);
    await idle;
    await hook.settled();
    expect([program.lastToast()?.title, program.time.pending]).toEqual(['Ralph Loop Cancelled', 0]);
    expect(hook.getState('s1')).toBeNull();
  });

  it('S5.40 that fails is logged, and the loop goes on at the next idle event', async () => {
    let isBroken = true;
    const hook = await begun({
      injectPrompt: async () => {
        if (isBroken) throw new Error('no connection');
      },
    });
    program.time.pass(500);
    await expect.poll(() => program.lines.at(-1)).toBe('error Failed to inject continuation');
    expect(program.details.at(-1)).toEqual({ sessionId: 's1', error: 'Error: no connection' });
    expect(hook.getState('s1')).toMatchObject({ active: true, iteration: 2 });
    isBroken = false;
    await program.turn(hook, 's1', PROMISE);
    expect(hook.isLoopActive('s1')).toBe(false);
  });
});

describe('an error of a session', () => {
  it.each(['MessageAbortedError', 'AbortError'])(
    'S5.31 S5.48 with the name %s clears the loop and starts no recovery',
    async (name) => {
      const hook = await begun();
      const loop = hook.getState('s1')?.loop;
      await fails(hook, 's1', { name });
      expect(program.lines.at(-1)).toBe('info User aborted, loop cleared');
      expect(program.details.at(-1)).toEqual({ sessionId: 's1' });
      expect(program.lastToast()).toMatchObject({
        title: 'Ralph Loop Cancelled',
        message: 'Stopped at iteration 2',
      });
      expect([hook.getState('s1'), outcomeOf(loop)]).toEqual([null, 'stopped']);
      hook.startLoop('s1', 'Another task');
      await program.turn(hook, 's1', 'Begun.');
      expect(program.lines).not.toContain('info Skipped: in recovery');
      expect(program.lastToast()?.message).toBe('Iteration 2/100');
    },
  );

  it('S5.31 that is an abort of another session changes nothing', async () => {
    const hook = await begun();
    await fails(hook, 's2', { name: 'AbortError' });
    expect(hook.isLoopActive('s1')).toBe(true);
    expect(program.lines).not.toContain('info User aborted, loop cleared');
  });

  it('S5.32 S5.33 S5.47 S5.48 stops the loop for 5 s', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    await fails(hook, 's1', { name: 'ApiError', message: 'bad gateway' });
    await program.turn(hook, 's1', 'Begun.');
    expect(program.lines.at(-1)).toBe('info Skipped: in recovery');
    program.time.pass(4999);
    await program.turn(hook, 's1');
    expect([program.lines.at(-1), hook.getState('s1')?.iteration]).toEqual(['info Skipped: in recovery', 1]);
    expect(program.details.at(-1)).toEqual({ sessionId: 's1' });
    program.time.pass(1);
    await program.turn(hook, 's1');
    expect(program.lastToast()?.message).toBe('Iteration 2/100');
  });

  it('S5.32 does not stop another session', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    await fails(hook, 's2', new Error('bad gateway'));
    await program.turn(hook, 's1', 'Begun.');
    expect(program.lastToast()?.message).toBe('Iteration 2/100');
  });

  it('S5.53 renews the recovery of an earlier one', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    await fails(hook, 's1', { name: 'ApiError' });
    program.time.pass(3000);
    await fails(hook, 's1', { name: 'ApiError' });
    program.time.pass(3000);
    await program.turn(hook, 's1', 'Begun.');
    expect(program.lines.at(-1)).toBe('info Skipped: in recovery');
    program.time.pass(2100);
    await program.turn(hook, 's1');
    expect(program.lastToast()?.message).toBe('Iteration 2/100');
  });

  it.each([
    { name: 'ApiError', data: { message: 'You have hit your usage limit', statusCode: 429 } },
    { name: 'ApiError', message: 'slow down', limit: { resetsAt: null } },
  ])('that is a usage limit lets the loop wait: %j', async (error) => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all');
    await fails(hook, 's1', error);
    expect(program.lastToast()).toMatchObject({ title: 'Ralph Loop Waiting', variant: 'warning' });
    expect(program.lastToast()?.message).toContain('usage limit');
    program.time.pass(5000);
    expect(program.prompts).toEqual([]);
    expect(hook.isLoopActive('s1')).toBe(true);
    await program.turn(hook, 's1', PROMISE);
    expect(program.lastToast()?.title).toBe('Ralph Loop Complete!');
  });

  it.each([undefined, null, 'text', {}, { error: null }, { error: 'text' }])(
    'may come with the data %j, and without a session',
    async (data) => {
      const hook = await begun();
      await hook.handler({ event: 'session.error', sessionId: 's1', data });
      await hook.handler({ event: 'session.error', sessionId: '', data });
      await hook.handler({ event: 'session.deleted', sessionId: '', data });
      await hook.handler({ event: 'something.else', sessionId: 's1', data });
      expect(hook.isLoopActive('s1')).toBe(true);
    },
  );
});

describe('a note in the session', () => {
  const notes: string[] = [];
  const showNote = (session: string, text: string): void => void notes.push(`${session}: ${text}`);
  beforeEach(() => {
    notes.length = 0;
  });

  it('says how the loop has ended, and why it rests', async () => {
    const hook = program.hook({ showNote });
    hook.startLoop('s1', 'Fix all', { maxIterations: 1 });
    hook.startLoop('s2', 'Fix all');
    hook.startLoop('s3', 'Fix all');
    await program.turn(hook, 's1', 'Begun.');
    await program.turn(hook, 's2', PROMISE);
    await fails(hook, 's3', { name: 'ApiError', message: 'slow down', limit: { resetsAt: null } });
    hook.cancelLoop('s3');
    await hook.settled();
    expect(notes).toEqual([
      expect.stringMatching(/^s1: Ralph loop fix-all-1 ended after 1 iteration: .*limit/),
      expect.stringMatching(/^s2: Ralph loop fix-all-2 ended after 1 iteration: /),
      expect.stringMatching(/^s3: Ralph loop: usage limit.*type anything to continue/),
      's3: Ralph loop cancelled at iteration 1.',
    ]);
  });

  it('says that checks run, if they take longer than a second', async () => {
    const hook = program.hook({ showNote });
    const until = (file: string): string => `touch running; until test -e ${file}; do sleep 0.02; done`;
    hook.startLoop('s1', 'Fix all', { checks: ['true', until('go')] });
    const idle = program.turn(hook, 's1', PROMISE);
    await expect.poll(() => existsSync(join(program.workdir, 'running'))).toBe(true);
    program.time.pass(999);
    expect(notes).toEqual([]);
    program.time.pass(1);
    expect(notes).toEqual([`s1: Ralph loop: running the checks true, ${until('go')}`]);
    writeFileSync(join(program.workdir, 'go'), '');
    await idle;
    expect([notes.length, program.time.pending]).toEqual([2, 0]);
  });

  it('says that a step was not taken, and that the record of a loop is damaged', async () => {
    const hook = program.hook({ showNote });
    hook.startLoop('s1', 'Fix all');
    await hook.settled();
    const { journal } = readLoopOf(hook.getState('s1')?.loop ?? '')?.folder ?? { journal: '' };
    writeFileSync(journal, 'damaged\n');
    await program.turn(hook, 's1', 'Begun.');
    expect(notes).toEqual([expect.stringContaining(`s1: Ralph loop: not continued: `)]);
    expect(notes[0]).toContain(journal);
    notes.length = 0;
    writeFileSync(program.stateFile('s1'), '{ "active": tr');
    await program.turn(hook, 's1', 'More.');
    expect(notes).toEqual([
      expect.stringContaining('s1: Ralph loop: not continued: cannot read the state of this'),
    ]);
    expect(notes[0]).toContain(program.stateFile('s1'));
    hook.cancelLoop('s1');
    expect(existsSync(program.stateFile('s1'))).toBe(false);
  });
});

describe('a deleted session', () => {
  it.each([
    ['in the data', { event: 'session.deleted', sessionId: 's9', data: { sessionId: 's1' } }],
    ['of the event', { event: 'session.deleted', sessionId: 's1' }],
  ])('S5.30 with the id %s takes its loop with it', async (_, event) => {
    const hook = await begun();
    const loop = hook.getState('s1')?.loop;
    await hook.handler(event);
    expect(program.lines.at(-1)).toBe('info Session deleted, loop cleared');
    expect(program.details.at(-1)).toEqual({ sessionId: 's1' });
    expect([hook.getState('s1'), outcomeOf(loop)]).toEqual([null, 'stopped']);
  });

  it('S5.30 does not touch another one, and its recovery is forgotten', async () => {
    const hook = await begun();
    await fails(hook, 's2', { name: 'ApiError' });
    await hook.handler({ event: 'session.deleted', sessionId: 's2' });
    expect(hook.isLoopActive('s1')).toBe(true);
    hook.startLoop('s2', 'Fix all');
    await program.turn(hook, 's2', 'Begun.');
    expect(program.lines).not.toContain('info Skipped: in recovery');
  });

  it('S5.35 S5.47 whose end was not seen is found by the idle event of another', async () => {
    const asked: string[] = [];
    let exists = true;
    const checkSessionExists = async (session: string): Promise<boolean> => {
      asked.push(session);
      return exists;
    };
    const hook = await begun({ checkSessionExists });
    const loop = hook.getState('s1')?.loop;
    await program.turn(hook, 's2', PROMISE);
    expect([asked, hook.isLoopActive('s1')]).toEqual([['s1'], true]);
    exists = false;
    await program.turn(hook, 's2', PROMISE);
    expect(program.lines.at(-1)).toBe('info Cleared orphaned state');
    expect(program.details.at(-1)).toEqual({ orphanedSessionId: 's1', currentSessionId: 's2' });
    expect([hook.getState('s1'), outcomeOf(loop)]).toEqual([null, 'stopped']);
    program.time.pass(500);
    expect(program.prompts).toEqual([]);
  });

  it('S5.35 is not believed to be deleted if that cannot be found out', async () => {
    const hook = await begun({
      checkSessionExists: async () => {
        throw new Error('no connection');
      },
    });
    await program.turn(hook, 's2', PROMISE);
    expect(hook.isLoopActive('s1')).toBe(true);
    expect(program.lines.at(-1)).toBe('info Continuing loop');
  });

  it('S5.35 S5.55 is never one of another program or folder', async () => {
    const hook = await begun();
    const checkSessionExists = async (): Promise<boolean> => false;
    const others = [{}, { program: 'editor' }, { program: 'hook', workdir: program.root }];
    for (const options of others) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await program.turn(program.hook({ ...options, checkSessionExists }), 's2', 'Hello.');
      expect(hook.isLoopActive('s1')).toBe(true);
    }
    // The same program in the same folder can tell.
    await program.turn(program.hook({ program: 'hook', checkSessionExists }), 's2', 'Hello.');
    expect(hook.isLoopActive('s1')).toBe(false);
  });

  it('S5.35 is found after a restart of a program that has a name or a folder for its states', async () => {
    const config = { stateDir: join(program.root, 'sessions') };
    await begun({ config });
    const after = program.hook({ config, checkSessionExists: async () => false });
    await program.turn(after, 's2', 'Hello.');
    expect(after.getState('s1')).toBeNull();
  });
});

describe('checks', () => {
  it('S5.48 reject a promise with a toast, and their output is in the next prompt', async () => {
    const hook = program.hook();
    hook.startLoop('s1', 'Fix all', { checks: ['echo "still broken"; false'] });
    await program.turn(hook, 's1', PROMISE);
    // opencode shows one toast at a time, the last one.
    expect(program.toasts.slice(-2)).toEqual([
      { title: 'Ralph Loop', message: 'Iteration 2/100', variant: 'info', duration: 2000 },
      {
        title: 'Ralph Loop: Promise Rejected',
        message: 'Failing: echo "still broken"; false',
        variant: 'warning',
        duration: 5000,
      },
    ]);
    program.time.pass(500);
    expect(program.prompts[0]?.prompt).toContain('still broken');
    expect(hook.isLoopActive('s1')).toBe(true);
  });
});
