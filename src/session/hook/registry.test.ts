import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { PROMISE, SessionProgram } from '../../../test/rig/session-program.ts';
import { createHookRegistry, getHookRegistry, type HookRegistry } from './registry.ts';
import type { Hook, HookContext } from './types.ts';

const IDLE: HookContext = { event: 'session.idle', sessionId: 's1' };

describe('the registry', () => {
  let called: string[];
  let lines: string[];
  let registry: HookRegistry;
  beforeEach(() => {
    called = [];
    lines = [];
    const log = { info() {}, warn() {}, error: (line: string) => void lines.push(line) };
    registry = createHookRegistry({ log });
  });
  const hook = (name: string, priority: number, handler: Hook['handler'] = async () => {}): Hook => ({
    name,
    description: name,
    priority,
    events: ['session.idle'],
    handler(context) {
      called.push(name);
      return handler(context);
    },
  });

  it('S5.57 calls hooks by falling priority, and only for their events', async () => {
    for (const [name, priority] of [
      ['low', 10],
      ['high', 90],
      ['middle', 50],
    ] as const)
      registry.register(hook(name, priority));
    await registry.emit(IDLE);
    await registry.emit({ ...IDLE, event: 'session.error' });
    expect(called).toEqual(['high', 'middle', 'low']);
  });

  it('S5.57 goes on after an exception', async () => {
    registry.register(hook('broken', 90, async () => Promise.reject(new Error('oops'))));
    registry.register(
      hook('broken at once', 80, () => {
        throw new Error('oops');
      }),
    );
    registry.register(hook('fine', 10, async () => ({ answer: 7 })));
    expect(await registry.emit(IDLE)).toEqual([{ answer: 7 }]);
    expect(called).toEqual(['broken', 'broken at once', 'fine']);
    expect(lines).toEqual(['Hook broken failed: oops', 'Hook broken at once failed: oops']);
  });

  it('S5.57 stops at an exception that is CRITICAL', async () => {
    registry.register(hook('broken', 90, async () => Promise.reject(new Error('CRITICAL: disk full'))));
    registry.register(hook('fine', 10));
    await expect(registry.emit(IDLE)).rejects.toThrow('CRITICAL: disk full');
    expect(called).toEqual(['broken']);
  });

  it('S5.57 waits 30 s for a hook', async () => {
    vi.useFakeTimers();
    try {
      registry.register(hook('slow', 90, () => new Promise(() => {})));
      registry.register(hook('fine', 10));
      const emitted = registry.emit(IDLE);
      await vi.advanceTimersByTimeAsync(29_999);
      expect(called).toEqual(['slow']);
      await vi.advanceTimersByTimeAsync(1);
      await emitted;
      expect(called).toEqual(['slow', 'fine']);
      expect(lines).toEqual(['Hook slow failed: timed out after 30 s']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('has one hook of a name, which can be removed', () => {
    registry.register(hook('a', 1));
    registry.register(hook('a', 2));
    expect(registry.hooks().map(({ priority }) => priority)).toEqual([2]);
    expect([registry.unregister('a'), registry.unregister('a'), registry.hooks()]).toEqual([true, false, []]);
  });
});

describe('the Ralph hook in a registry', () => {
  let program: SessionProgram;
  beforeEach(() => {
    program = new SessionProgram();
  });
  afterEach(() => program.close());

  it('S5.46 S5.57 is active as document 004 registers it, and off if it is disabled', () => {
    const ralphHook = program.hook();
    getHookRegistry().register(ralphHook);
    onTestFinished(() => void getHookRegistry().unregister('ralph-loop'));
    expect(getHookRegistry().hooks()).toEqual([ralphHook]);
    getHookRegistry().register(ralphHook, { enabled: false });
    expect(getHookRegistry().hooks()).toEqual([]);
  });

  it('S5.46 drives a session through the adapter of the program', async () => {
    const registry = createHookRegistry({ log: program.log });
    const hook = program.hook();
    registry.register(hook);
    hook.startLoop('s1', 'Fix all');
    program.hears('s1', 'assistant', 'Begun.');
    await registry.emit(IDLE);
    program.time.pass(500);
    expect(program.prompts).toHaveLength(1);
    program.hears('s1', 'assistant', PROMISE);
    await registry.emit(IDLE);
    expect(program.lastToast()?.title).toBe('Ralph Loop Complete!');
    expect(program.lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });
});
