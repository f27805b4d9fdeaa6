import { expect, it, onTestFinished } from 'vitest';
import { commandNames } from '../../src/cli/program.ts';
import { setUpRig } from '../rig/cli/rig.ts';

it.each(commandNames())('ralph %s is a process that rejects an unknown option', async (name) => {
  const rig = await setUpRig();
  onTestFinished(() => rig.tearDown());
  const { code, stdout, stderr } = await rig.ralph([...name.split(' '), '--no-such-option']).ended;
  expect({ code, stdout }).toEqual({ code: name === 'spawn' ? 1 : 2, stdout: '' });
  expect(stderr).toMatch(/^ralph: error: unknown option '--no-such-option'/);
});
