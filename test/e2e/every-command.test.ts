import { expect, it, onTestFinished } from 'vitest';
import { commandNames } from '../../src/cli/program.ts';
import { setUpRig } from '../rig/cli/rig.ts';

it.each(commandNames())('ralph %s is a process that rejects an unknown option', async (name) => {
  const rig = await setUpRig();
  onTestFinished(() => rig.tearDown());
  const { code, stdout, stderr } = await rig.does(...name.split(' '), '--no-such-option');
  expect({ code, stdout }).toEqual({ code: name === 'spawn' ? 1 : 2, stdout: '' });
  expect(stderr).toMatch(/^ralph: error: unknown option '--no-such-option'/);
});
