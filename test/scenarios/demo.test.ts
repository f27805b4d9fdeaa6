import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStage } from './stage.ts';

it('ralph demo runs a loop, and its report names nothing that is gone afterwards', async () => {
  const stage = openStage();
  const { code, stderr } = await stage.ralph('demo').ended;
  expect(code).toBe(0);
  expect(stderr).toContain('ralph: demo done');
  expect(stderr).toMatch(/^ {2}time +\d/m);
  expect(stderr).not.toContain('files that verify the work were changed');
  expect(stderr).not.toMatch(/^ {2}(?:details|story|resume) /m);
});

it('ralph demo does not use the state folder of the user', async () => {
  const stage = openStage();
  const state = join(stage.plan, 'state');
  stage.env['RALPH_STATE'] = state;
  expect((await stage.ralph('demo').ended).code).toBe(0);
  expect(existsSync(state)).toBe(false);
});
