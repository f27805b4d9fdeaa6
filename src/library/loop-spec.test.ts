import { expect, it } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import type { PresetName } from '../loop/policy.ts';
import { requestOf, type LoopAgent } from './loop-spec.ts';

const command = { command: ['sh', '-c', 'true'] };

it.each<[PresetName, LoopAgent, readonly unknown[]]>([
  ['swarm', command, [expect.stringContaining('preset "swarm" runs its agent in tmux')]],
  [
    'promise',
    command,
    [expect.stringContaining('preset "promise" runs its agent in one continuing session')],
  ],
  ['default', command, []],
  ['swarm', async () => ({ text: 'done' }), []],
])(
  'warns with preset %s that its host does not exist yet, unless the agent is a function',
  async (preset, agent, notes) => {
    const workspace = openLibraryFolder();
    const request = await requestOf({ prompt: 'work', workspace, preset, agent, maximumIterations: 1 });
    expect(request.notes).toEqual(notes);
  },
);
