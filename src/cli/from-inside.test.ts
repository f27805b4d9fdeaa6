import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FROM_INSIDE, refuseFromInside } from './from-inside.ts';
import { commandNames } from './program.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'ralph-inside-'));
  vi.stubEnv('RALPH_STATE', state);
  const folder = join(state, 'loops', 'it-0a1b2c3d');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'spec.json'), JSON.stringify({ id: 'it-0a1b2c3d', name: 'it', parent: null }));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(state, { recursive: true, force: true });
});

const call = (name: string): Promise<void> => refuseFromInside({ name, args: [], options: {} });
const ofKind = (kind: string): readonly string[] =>
  Object.keys(FROM_INSIDE).filter((name) => FROM_INSIDE[name] === kind);
const CHANGES = [
  'terms',
  'resume',
  'pause',
  'stop',
  'set',
  'rewind',
  'remove',
  'merge',
  'kill',
  'answer',
].flatMap(ofKind);

describe('the table of what an agent can do with the commands', () => {
  it('has a row for every command of the parser', () => {
    const names = commandNames();
    expect(names).toContain('worktree merge');
    expect(names.filter((name) => FROM_INSIDE[name] === undefined)).toEqual([]);
  });

  it.each([...CHANGES, 'a command without a row'])(
    'refuses %s without a loop that it may change, only inside a run',
    async (name) => {
      await expect(call(name)).resolves.toBeUndefined();
      vi.stubEnv('RALPH_RUN_ID', 'it-0a1b2c3d.1');
      await expect(call(name)).rejects.toThrow(`"ralph ${name}" is refused inside a run`);
      // A run of a loop that is not in this state folder.
      vi.stubEnv('RALPH_RUN_ID', 'it-ffffffff.1');
      await expect(call(name)).resolves.toBeUndefined();
    },
  );

  it('allows ralph trust --show', async () => {
    vi.stubEnv('RALPH_RUN_ID', 'it-0a1b2c3d.1');
    await expect(
      refuseFromInside({ name: 'trust', args: [], options: { show: true } }),
    ).resolves.toBeUndefined();
  });

  it.each(ofKind('free'))('allows %s', async (name) => {
    vi.stubEnv('RALPH_RUN_ID', 'it-0a1b2c3d.1');
    await expect(call(name)).resolves.toBeUndefined();
  });
});
