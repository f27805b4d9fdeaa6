import { expect, it } from 'vitest';
import type { LoopRow } from '../loops/list.ts';
import { columns } from './columns.ts';
import { workerTable } from './workers.ts';

it('S4.91 lists workers with the columns of document 003 and relative times', () => {
  const worker = { status: 'running', pid: 12, worktree: null, startedAt: 0 } as const;
  const row = (more: object, facts: object = {}): LoopRow =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the table shows
    ({ name: 'it', ...more, worker: { ...worker, ...facts } }) as unknown as LoopRow;
  const at = (seconds: number): string | undefined => workerTable([row({})], seconds * 1000)[1]?.[3];
  expect([at(45), at(900), at(6 * 3600 + 5), at(3 * 86_400)]).toEqual(['45s', '15m', '6h', '3d']);
  const worktree = { path: '/trees/it', branch: 'it' };
  expect(columns(workerTable([row({ tags: ['api', 'night'] }, { worktree })], 1000))).toBe(
    'NAME  STATUS   PID/WINDOW  STARTED  WORKTREE   TAG\n' +
      'it    running  12          1s       /trees/it  api,night\n',
  );
  expect(columns(workerTable([row({ window: 'ralph:it' }, { worktree })], 1000))).toContain(
    'it    running  ralph:it    1s',
  );
});
