import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import { daemonFolder, daemonLock } from '../background/place.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import type { StartRequest } from '../owner/make-request.ts';
import { takeOver } from '../owner/take-over.ts';
import { enlisted } from '../home/background.ts';
import { takeLock } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { registeredIn } from '../home/registry.ts';
import { NeedsTrust } from '../settings/trust-of.ts';
import { localLoops } from './local-loops.ts';

let workspace: string;
let request: StartRequest;
beforeEach(async () => {
  workspace = openLibraryFolder();
  request = { workspace, name: 'it', prompt: { text: 'x' }, settings: {}, command: ['true'] };
  // This process is the daemon.
  mkdirSync(daemonFolder(), { recursive: true });
  await takeLock(daemonLock(), thisProcess());
});

/** What the daemon does with the next loop that is given to it. */
async function takes(): Promise<OwnedLoop> {
  await until('the entry', () => (enlisted().length > 0 ? true : null));
  return takeOver(workspace, 'it', { by: 'background' });
}

it('gives a new loop to the daemon, and shows it before and after that', async () => {
  const loops = localLoops();
  const given: string[] = [];
  const [view, loop] = await Promise.all([
    loops.start(request, {
      giving: ({ spec, shownCommand }) => void given.push(`${spec.name}: ${shownCommand}`),
    }),
    takes(),
  ]);
  expect(given).toEqual(['it: true']);
  expect(view).toMatchObject({
    name: 'it',
    workspace,
    summary: { status: 'running', owner: process.pid },
    trouble: null,
  });
  loop.close();
});

it('starts one loop for a request that is sent twice, also while the first one is carried out', async () => {
  const loops = localLoops();
  const twice = { ...request, id: 'once' };
  const [first, second, loop] = await Promise.all([loops.start(twice), loops.start(twice), takes()]);
  const third = await loops.start(twice);
  expect([second.id, third.id]).toEqual([first.id, first.id]);
  expect(registeredIn(workspace)).toHaveLength(1);
  loop.close();
});

it('asks for the trust of the user with what there is to agree to, and starts nothing before', async () => {
  mkdirSync(join(workspace, '.ralph'));
  writeFileSync(
    join(workspace, '.ralph', 'settings.json'),
    JSON.stringify({ checks: [{ command: 'make test' }] }),
  );
  const error: unknown = await localLoops()
    .start(request)
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(NeedsTrust);
  expect(JSON.stringify(error)).toContain('make test');
  expect(registeredIn(workspace)).toEqual([]);
});

it('starts a loop that belongs to this process', async () => {
  const loop = await localLoops().ownNew({ ...request, settings: { maxIterations: 1 } });
  expect(enlisted()).toEqual([]);
  expect(await loop.drive()).toMatchObject({ why: 'ended', outcome: { type: 'iterations-exhausted' } });
});
