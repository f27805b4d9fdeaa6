import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openState, registerLoop } from '../../test/rig/loop-folder.ts';
import type { LoopEvent } from '../loop/event.ts';
import { followLoop, toFollow } from './follow-loop.ts';
import { refOf } from './find.ts';

const many = (iteration: number): readonly LoopEvent[] => [
  { type: 'iteration.started', iteration, at: 1 },
  ...Array.from({ length: 1500 }, (_, index) => ({ type: 'timer.fired' as const, key: `${index}`, at: 1 })),
];

describe('a loop that is followed', () => {
  const shown = async (from: 'iteration' | null): Promise<readonly LoopEvent[]> => {
    const followed = toFollow(registerLoop(openState(), 'it', [...many(1), ...many(2)]).path);
    expect(toFollow(refOf(followed)).folder).toEqual(followed.folder);
    const events: LoopEvent[] = [];
    const end = await followLoop(followed, { appended: (event) => void events.push(event) }, { from });
    expect(end.iterations).toBe(2);
    return events;
  };

  it('is shown from its first event, over several pages of its journal', async () => {
    expect((await shown(null)).map(({ type }) => type)).toEqual([
      'loop.created',
      ...many(1).map(({ type }) => type),
      ...many(2).map(({ type }) => type),
    ]);
  });

  it('is shown from its last iteration, which begins in a later page', async () => {
    expect(await shown('iteration')).toEqual(many(2));
  });
});

it('shows what an agent says once, also if another owner has reattached to it', async () => {
  const receipt = { pid: 1, startTime: '1', bootId: 'b', pidNamespace: 'n' };
  const started: LoopEvent = { type: 'run.started', run: '1.1', receipt, at: 2 };
  const ending = { how: 'exited', code: 0, error: null } as const;
  const folder = registerLoop(
    openState(),
    'it',
    [
      { type: 'iteration.started', iteration: 1, at: 1 },
      { type: 'run.planned', run: '1.1', purpose: 'work', guidance: [], prompt: null, at: 1 },
      started,
      { type: 'owner.changed', owner: 'x', at: 3 },
      started,
      { type: 'run.ended', run: '1.1', ending, as: 'ok', jitter: 0, at: 4 },
    ],
    { agent: { kind: 'custom', argv: ['x'] } },
  );
  mkdirSync(folder.run('1.1'), { recursive: true });
  writeFileSync(join(folder.run('1.1'), 'stdout.log'), 'hello\n');
  let words = '';
  await followLoop(toFollow(folder.path), {
    agent: (event) => (words += event.type === 'text' ? event.text : ''),
  });
  expect(words).toBe('hello\n');
});
