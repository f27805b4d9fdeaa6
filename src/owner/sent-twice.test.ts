import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import { registeredIn } from '../home/registry.ts';

const FIXTURE = fileURLToPath(new URL('../../test/fixtures/creates-loop.mjs', import.meta.url));

/** Carries out requests in processes that begin at the same time, and returns what each has reported. */
async function send(workspace: string, requests: readonly (readonly string[])[]): Promise<readonly string[]> {
  const processes = requests.map((args) => {
    const child = spawn(process.execPath, [FIXTURE, workspace, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    return {
      child,
      ended: once(child, 'exit'),
      lines: createInterface(child.stdout)[Symbol.asyncIterator](),
    };
  });
  await Promise.all(processes.map(({ lines }) => lines.next()));
  for (const { child } of processes) child.stdin.end('go\n');
  const said = await Promise.all(processes.map(async ({ lines }) => String((await lines.next()).value)));
  await Promise.all(processes.map(({ ended }) => ended));
  return said.toSorted();
}

it('starts one loop for a request that several processes carry out at once, with a name and without', async () => {
  const workspace = openLibraryFolder();
  const same = Array.from({ length: 6 }, () => ['a']);
  expect(await send(workspace, same)).toEqual(['created task-1', ...same.slice(1).map(() => 'found task-1')]);
  const named = same.map(() => ['b', 'mine']);
  expect(await send(workspace, named)).toEqual(['created mine', ...named.slice(1).map(() => 'found mine')]);
  expect(registeredIn(workspace).map(({ name }) => name)).toEqual(['mine', 'task-1']);
});

it('finds the loop of a request that is sent again later, and starts another one for each other request', async () => {
  const workspace = openLibraryFolder();
  expect(await send(workspace, [['a']])).toEqual(['created task-1']);
  expect(await send(workspace, [['b'], ['c']])).toEqual(['created task-2', 'created task-3']);
  expect(await send(workspace, [['a'], ['b', 'other']])).toEqual([
    'found task-1',
    expect.stringMatching(/^found task-[23]$/),
  ]);
});
