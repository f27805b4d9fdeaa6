import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { exec } from './exec.ts';

it.runIf(existsSync('/proc/self/wchan'))('ends a program that waits for a FIFO', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'ralph-exec-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  execFileSync('git', ['init', '--quiet'], { cwd });
  execFileSync('mkfifo', [join(cwd, '.gitignore')]);
  const env = { PATH: process.env['PATH'] ?? '' };
  const options = { cwd, env, timeoutMs: 600_000 };
  await exec(['true'], { ...options, isShort: true });
  const [answer, inShell] = await Promise.all([
    exec(['git', 'status'], options),
    exec(['git', 'status'], { ...options, isShort: true }),
  ]);
  expect(answer?.code).toBeNull();
  expect(inShell?.code).toBeNull();
});
