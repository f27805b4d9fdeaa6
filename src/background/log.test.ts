import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readLog, writeLog } from './log.ts';
import { daemonFolder, daemonLog } from './place.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'ralph-daemon-'));
  vi.stubEnv('RALPH_STATE', state);
  mkdirSync(daemonFolder());
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(state, { recursive: true, force: true });
});

it('has one line with its time for each entry, readable for this user only', async () => {
  expect(await readLog(() => {}, false)).toBe(false);
  writeLog('started\n  at once');
  let shown = '';
  await readLog((text) => (shown += text), false);
  expect(shown).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d started \| at once\n$/);
  expect(statSync(daemonLog()).mode & 0o777).toBe(0o600);
});

it('keeps two files of a megabyte', () => {
  writeFileSync(daemonLog(), 'x'.repeat(2 ** 20 + 1));
  writeLog('new');
  expect(readFileSync(daemonLog(), 'utf8')).toMatch(/ new\n$/);
  expect(statSync(`${daemonLog()}.1`).size).toBe(2 ** 20 + 1);
});
