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
  const answer = await exec(['git', 'status'], { cwd, env, timeoutMs: 600_000 });
  expect(answer?.code).toBeNull();
});
