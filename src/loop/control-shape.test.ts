import { describe, expect, it } from 'vitest';
import { controlIn, problemsOfMessage } from './control-shape.ts';
import { MAX_TELL_LENGTH } from './event.ts';

describe('a message to a loop', () => {
  it.each([
    { type: 'pause' },
    { type: 'resume', now: true },
    { type: 'stop', now: false, by: 'person' },
    { type: 'tell', text: 'look at the parser' },
    { type: 'set', limits: { iterations: 3, costUsd: null } },
  ])('is accepted as %j', (message) => {
    expect(controlIn(message)).toEqual(message);
  });

  it.each([
    null,
    [],
    'pause',
    {},
    { type: ['tell'] },
    { type: 'tell' },
    { type: 'tell', text: ' ' },
    { type: 'tell', text: 'x'.repeat(MAX_TELL_LENGTH + 1) },
    { type: 'set' },
    { type: 'set', limits: {} },
    { type: 'set', limits: { iterations: -1 } },
    { type: 'set', limits: { lookedAt: 'before-iteration' } },
    { type: 'stop', now: true, by: 'deadline' },
    { type: 'pause', extra: 1 },
    // Only the owner itself ends a loop in these ways.
    { type: 'abort', message: 'x', as: 'waiting' },
    { type: 'abort', message: 'x' },
    { type: 'signal', signal: 'SIGTERM' },
  ])('is rejected as %j', (message) => {
    expect(controlIn(message)).toBeNull();
    expect(problemsOfMessage(message)).not.toEqual([]);
  });
});
