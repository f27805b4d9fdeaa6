import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { openState, registerLoop, specFor } from '../../test/rig/loop-folder.ts';
import type { SandboxedParent } from '../owner/owner.ts';
import { watchFolder } from '../process/watch.ts';
import { answerRequests } from '../sandbox/requests.ts';
import { askedLoops } from './asked-loops.ts';
import { refOf } from './find.ts';
import type { Loops, LoopRef } from './loops.ts';
import { sandboxFront } from './sandbox-front.ts';

let loops: Loops;
let own: LoopRef;
let child: LoopRef;
let other: LoopRef;
beforeEach(() => {
  const workspace = openState();
  const folder = registerLoop(workspace, 'own', [{ type: 'timer.fired', key: 'x', at: 1 }]);
  mkdirSync(folder.run('1.1'), { recursive: true });
  writeFileSync(join(folder.run('1.1'), 'stdout.log'), 'hello\n');
  const spec = specFor(folder);
  own = refOf({ spec });
  const parent = { run: `${own.id}.1`, folder: folder.path };
  child = refOf({ spec: specFor(registerLoop(workspace, 'child', [], { parent })) });
  other = refOf({ spec: specFor(registerLoop(workspace, 'other')) });
  const requests = join(dirname(workspace), 'requests');
  mkdirSync(requests);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what these verbs need of it
  const front = sandboxFront({ spec } as unknown as SandboxedParent);
  const answer = (): unknown => answerRequests(requests, (request) => front(request)?.carryOut() ?? null);
  onTestFinished(watchFolder(requests, answer));
  loops = askedLoops(requests);
});

it('a sandbox reads its own loop and those below it through its owner, and no other', async () => {
  const names = (await loops.list({ workspace: null })).map(({ name }) => name);
  expect(names).toEqual(['own', 'child']);
  const { events, next, after } = await loops.events(own, { from: null });
  expect({ types: events.map(({ type }) => type), after }).toEqual({
    types: ['loop.created', 'timer.fired'],
    after: 'rest',
  });
  const abort = AbortSignal.abort();
  expect((await loops.events(own, { from: next, wait: 60_000 }, { signal: abort })).events).toEqual([]);
  expect((await loops.runs(own)).map(({ run }) => run)).toEqual(['1.1']);
  expect(await loops.output(own, '1.1', 'stdout', { from: 0 })).toMatchObject({ next: 6, after: 'end' });
  expect((await loops.events(child, { from: null })).events).toHaveLength(1);
  const refused = 'a sandbox has only its own loop';
  await expect(loops.get(other)).rejects.toThrow(refused);
  await expect(loops.events(other, { from: null })).rejects.toThrow(refused);
  await expect(loops.runs(other)).rejects.toThrow(refused);
  await expect(loops.output(other, '1.1', 'stdout', { from: 0 })).rejects.toThrow(refused);
});
