import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROMISE, SessionProgram } from '../../../test/rig/session-program.ts';
import { parseMarkdownState, readMarkdownState, writeMarkdownState } from './markdown-state.ts';
import type { RalphLoopState } from '../session-file.ts';

let program: SessionProgram;
beforeEach(() => {
  program = new SessionProgram();
});
afterEach(() => program.close());

const STATE: RalphLoopState = {
  active: true,
  iteration: 3,
  maxIterations: 25,
  completionPromise: 'ALL "FIXED": yes',
  startedAt: '2026-01-02T03:04:05.678Z',
  prompt: 'Fix all\n---\nactive: false\n---\n',
  sessionId: 's1',
};
const file = (): string => join(program.workdir, '.supercode', 'ralph-loop.local.md');

describe('the state as Markdown', () => {
  it('S5.56 has front matter and the prompt as its body', () => {
    writeMarkdownState(program.workdir, { ...STATE, completionPromise: 'DONE', prompt: 'Fix all' });
    expect(readFileSync(file(), 'utf8')).toBe(
      [
        '---',
        'active: true',
        'iteration: 3',
        'max_iterations: 25',
        'completion_promise: "DONE"',
        'started_at: "2026-01-02T03:04:05.678Z"',
        'session_id: "s1"',
        '---',
        'Fix all',
        '',
      ].join('\n'),
    );
  });

  it('S5.56 is read as it was written', () => {
    writeMarkdownState(program.workdir, STATE);
    expect(readMarkdownState(program.workdir)).toEqual(STATE);
  });

  it('S5.56 may have values without quotes or in single ones', () => {
    const text =
      "---\nactive: false\niteration: 1\nmax_iterations: 5\ncompletion_promise: 'ALL DONE'\nstarted_at: 2026-01-02\nsession_id: s1\nother: x\n---\n\nFix all\n";
    expect(parseMarkdownState(text)).toEqual({
      active: false,
      iteration: 1,
      maxIterations: 5,
      completionPromise: 'ALL DONE',
      startedAt: '2026-01-02',
      prompt: '\nFix all',
      sessionId: 's1',
    });
  });

  it.each(['active', 'iteration', 'max_iterations', 'completion_promise', 'started_at', 'session_id'])(
    'S5.56 is null without %s',
    (key) => {
      writeMarkdownState(program.workdir, STATE);
      const text = readFileSync(file(), 'utf8');
      expect(parseMarkdownState(text.replace(new RegExp(`^${key}: .*\n`, 'm'), ''))).toBeNull();
    },
  );

  it.each(['iteration: three', 'max_iterations: 1.5', 'max_iterations: -1', 'iteration:', 'active: maybe'])(
    'S5.56 is null with %s',
    (line) => {
      writeMarkdownState(program.workdir, STATE);
      const [key = ''] = line.split(':');
      const text = readFileSync(file(), 'utf8').replace(new RegExp(`^${key}: .*$`, 'm'), line);
      expect(parseMarkdownState(text)).toBeNull();
    },
  );

  it('S5.56 is null if there is no such file, or one behind a link', () => {
    expect(readMarkdownState(program.workdir)).toBeNull();
    mkdirSync(join(program.root, 'elsewhere'));
    symlinkSync(join(program.root, 'elsewhere'), join(program.workdir, '.supercode'));
    writeFileSync(file(), '---\n---\n');
    expect(readMarkdownState(program.workdir)).toBeNull();
  });
});

describe('a hook with the Markdown state', () => {
  it('S5.56 keeps the file up to date until the loop ends', async () => {
    const hook = program.hook({ markdownState: true });
    hook.startLoop('s1', 'Fix all');
    expect(readMarkdownState(program.workdir)).toMatchObject({
      sessionId: 's1',
      iteration: 1,
      prompt: 'Fix all',
    });
    await program.turn(hook, 's1', 'Begun.');
    expect(readMarkdownState(program.workdir)).toMatchObject({ iteration: 2 });
    program.time.pass(500);
    await program.turn(hook, 's1', PROMISE);
    expect(existsSync(file())).toBe(false);
  });

  it('S5.56 leaves the file of a later session alone', () => {
    const hook = program.hook({ markdownState: true });
    hook.startLoop('s1', 'First');
    hook.startLoop('s2', 'Second');
    hook.cancelLoop('s1');
    expect(readMarkdownState(program.workdir)).toMatchObject({ sessionId: 's2' });
    hook.cancelLoop('s2');
    expect(readMarkdownState(program.workdir)).toBeNull();
  });

  it('goes on without the file if it cannot be written', async () => {
    const hook = program.hook({ markdownState: true });
    writeFileSync(join(program.workdir, '.supercode'), '');
    expect(hook.startLoop('s1', 'First')).toBe(true);
    expect(program.lines[0]).toBe('warn Failed to write the Markdown state');
    rmSync(join(program.workdir, '.supercode'));
    await program.turn(hook, 's1', 'Begun.');
    expect(readMarkdownState(program.workdir)).toMatchObject({ iteration: 2 });
  });
});
