import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { readUserSettings, userSettingsFile, type UserSettings } from './user-settings.ts';

async function read(content: unknown): Promise<UserSettings | null> {
  const env = { XDG_CONFIG_HOME: mkdtempSync(join(tmpdir(), 'ralph-user-settings-')) };
  const path = userSettingsFile(env);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(content));
  try {
    return await readUserSettings(env);
  } finally {
    rmSync(env.XDG_CONFIG_HOME, { recursive: true });
  }
}

it('takes loops that a run starts with --no-child out of the budget, and limits no children', async () => {
  expect(await read({ children: { unrelated: true } })).toEqual({ children: { unrelated: true } });
  const problem = 'children can have only "unrelated", which is true or false';
  await expect(read({ children: { unrelated: 'yes' } })).rejects.toThrow(problem);
  await expect(read({ children: { maxDepth: 9 } })).rejects.toThrow(problem);
  await expect(read({ maxCost: 3 })).rejects.toThrow('unknown key "maxCost"');
});
