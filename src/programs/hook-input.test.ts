import { describe, expect, it } from 'vitest';
import { hookInput } from './hook-input.ts';

const STOP = { hook_event_name: 'Stop', session_id: '019a-b.c_d', cwd: '/w', transcript_path: '/t.jsonl' };

describe('the input of a hook', () => {
  it('is an event of a session', () => {
    const input = hookInput({ ...STOP, prompt: 'Hello', turn: 7 });
    expect(input).toMatchObject({ event: 'Stop', session: '019a-b.c_d', cwd: '/w', transcript: '/t.jsonl' });
    expect(['prompt', 'turn', 'toString'].map((name) => input?.text(name))).toEqual(['Hello', null, null]);
    expect(input?.fields['turn']).toBe(7);
  });

  it.each([null, 'Stop', [STOP], {}, { ...STOP, hook_event_name: 1 }])('is null for %j', (value) => {
    expect(hookInput(value)).toBeNull();
  });

  it.each(['', '.', '..', '.a', 'a/b', 'a\\b', 'a b', 'a\0', 'a\n', 'é', 'a'.repeat(129), 1, null])(
    'is null for the session id %j',
    (session_id) => {
      expect(hookInput({ ...STOP, session_id })).toBeNull();
    },
  );

  it.each(['w', '', '../w', '/w\0', 7, null])('has no folder and no transcript for the path %j', (path) => {
    const input = hookInput({ ...STOP, cwd: path, transcript_path: path });
    expect(input).toMatchObject({ cwd: null, transcript: null });
  });
});
