import { expect, it, onTestFinished } from 'vitest';
import { commandNames } from '../../src/cli/program.ts';
import { setUpRig } from '../rig/cli/rig.ts';

it.each(commandNames())('ralph %s is a process that rejects an unknown option', async (name) => {
  const rig = await setUpRig();
  onTestFinished(() => rig.tearDown());
  const { code, stdout, stderr } = await rig.ralph([...name.split(' '), '--no-such-option']).ended;
  // Every error of document 003's commands exits with 1.
  expect({ code, stdout }).toEqual({ code: /^(?:spawn|ralph )/.test(name) ? 1 : 2, stdout: '' });
  expect(stderr).toMatch(/^ralph: error: unknown option '--no-such-option'/);
});
