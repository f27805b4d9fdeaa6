import { onTestFinished, expect, it, vi } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import { makeLoopFolder, removeLoopFolder, specFor } from '../../test/rig/loop-folder.ts';
import { given } from '../../test/rig/given.ts';
import { makeRequest, type StartRequest } from './make-request.ts';
import type { SandboxedParent } from './owner.ts';

const SCRIPTED = { kind: 'scripted', argv: ['agent'] };

function openParent(): SandboxedParent {
  openLibraryFolder();
  vi.stubEnv('RALPH_TRUST', '');
  const folder = makeLoopFolder();
  onTestFinished(() => removeLoopFolder(folder));
  const sandbox = { checks: false, write: ['cache'], hide: ['~/keys'], network: false };
  const state = given({ sandbox, limits: { costUsd: 2, timeMs: 60_000 } });
  return { spec: specFor(folder, { agent: SCRIPTED }), folder, env: { OF: 'parent' }, state: () => state };
}

const asked: StartRequest = { workspace: '/', prompt: { text: 'the task' }, settings: {} };

it('takes over only the terms that a child may have', async () => {
  const parent = openParent();
  const { workspace } = parent.spec;
  const { request } = await makeRequest(
    {
      ...asked,
      name: 'child',
      files: 'ignored',
      settings: {
        maxIterations: 3,
        maxCost: 9,
        checks: [{ command: 'make test' }],
        sandbox: false,
        interactive: true,
        worktree: true,
        setup: ['make'],
        scm: { command: 'sh', tasks: ['x'] },
        agent: { env: { drop: ['OF'] } },
      },
      policy: { sandbox: null, limits: { costUsd: 9 } },
      env: { GIT_DIR: '/' },
      child: false,
      trust: true,
    },
    { confinedTo: parent },
  );
  expect(request).toMatchObject({
    workspace,
    name: 'child',
    prompt: { text: 'the task' },
    agent: parent.spec.agent,
    env: { OF: 'parent' },
    worktree: false,
    parent: { run: 'it-12345678.1.1', folder: parent.folder.path },
    policy: {
      host: 'process',
      commit: null,
      checks: { commands: [{ command: 'make test' }] },
      limits: { iterations: 3, costUsd: 2 },
      worktree: { setup: [] },
      sandbox: { checks: true, write: [`${workspace}/cache`], hide: ['~/keys'], network: false },
    },
  });
  expect(request.env).not.toHaveProperty('GIT_DIR');
});

it.each([
  ['another agent', { settings: { agent: { name: 'claude' } } }, 'has the agent of its parent (scripted)'],
  ['another command', { command: ['sh'] }, 'has the agent of its parent (scripted)'],
  ['a task in a file', { prompt: { file: '/etc/passwd' } }, 'must be a text'],
  ['no task', { prompt: undefined }, 'must be a text'],
])('refuses %s', async (_, part, message) => {
  const parent = openParent();
  await expect(makeRequest({ ...asked, ...part }, { confinedTo: parent })).rejects.toThrow(message);
});
