import { describe, expect, it } from 'vitest';
import { combinedSandbox, sandboxPolicy, type SandboxLayers } from './sandbox.ts';

const combined = (layers: Partial<Record<keyof SandboxLayers, SandboxLayers['flag']>>) => {
  const { sandbox, notes } = combinedSandbox({
    flag: layers.flag,
    user: layers.user === undefined ? null : { sandbox: layers.user },
    shared: layers.shared === undefined ? null : { sandbox: layers.shared },
    local: layers.local === undefined ? null : { sandbox: layers.local },
  });
  return { policy: sandbox === undefined ? null : sandboxPolicy(sandbox), notes };
};
const PLAIN = { checks: false, write: [], hide: [], network: true };

describe('the sandbox of several layers', () => {
  it('is off by default, and on if a settings file or an option asks for it', () => {
    expect(combined({}).policy).toBeNull();
    expect(combined({ shared: false }).policy).toBeNull();
    for (const layer of ['flag', 'user', 'shared', 'local'] as const)
      expect(combined({ [layer]: true }).policy).toEqual(PLAIN);
  });

  it('is switched off by the command line only, if the user has asked for it', () => {
    expect(combined({ user: true, shared: false, local: false })).toMatchObject({
      policy: PLAIN,
      notes: [expect.stringContaining('sandbox: false of this repository is not used')],
    });
    expect(combined({ flag: true, shared: false }).policy).toEqual(PLAIN);
    expect(combined({ flag: false, user: true, shared: true }).policy).toBeNull();
    expect(combined({ shared: true, local: false }).policy).toBeNull();
  });

  it('is widened by the one who asks for it only', () => {
    const repository = { write: ['~'], network: true };
    expect(combined({ shared: repository }).policy).toEqual({ ...PLAIN, write: ['~'] });
    for (const asked of [{ flag: true }, { user: true }, { flag: true, user: { write: ['/a'] } }] as const) {
      const { policy, notes } = combined({ ...asked, shared: repository });
      expect(policy?.write).toEqual('user' in asked && asked.user !== true ? ['/a'] : []);
      expect(notes[0]).toContain('sandbox.write of this repository is not used (~)');
    }
    expect(combined({ user: { network: false }, shared: repository }).policy?.network).toBe(false);
  });

  it('is made stricter by every layer', () => {
    const policy = combined({
      flag: true,
      user: { hide: ['/a'] },
      shared: { hide: ['/b'], checks: true },
      local: { network: false },
    }).policy;
    expect(policy).toEqual({ checks: true, write: [], hide: ['/a', '/b'], network: false });
  });
});
