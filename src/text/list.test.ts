import { expect, it } from 'vitest';
import { columns } from './columns.ts';
import { workerTable } from './list.ts';

it('S4.91 lists workers with the columns of document 003 and relative times', () => {
  const worker = { name: 'it', status: 'running', pid: 12, worktree: null, tags: [], startedAt: 0 } as const;
  const at = (seconds: number): string | undefined => workerTable([worker], seconds * 1000)[1]?.[3];
  expect([at(45), at(900), at(6 * 3600 + 5), at(3 * 86_400)]).toEqual(['45s', '15m', '6h', '3d']);
  const worktree = { path: '/trees/it', branch: 'it', base_repo: '/repository' };
  expect(columns(workerTable([{ ...worker, worktree, tags: ['api', 'night'] }], 1000))).toBe(
    'NAME  STATUS   PID/WINDOW  STARTED  WORKTREE   TAG\n' +
      'it    running  12          1s       /trees/it  api,night\n',
  );
  expect(columns(workerTable([{ ...worker, window: 'ralph:it' }], 1000))).toContain(
    'it    running  ralph:it    1s',
  );
});
