import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { isLoadedRunning, runLoaded } from './loaded-command.ts';

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

it('runs a command with its own arguments, environment, folder and output, and puts the process back', async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-loaded-')));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const before = stateOfProcess();
  const printed = { 1: '', 2: '' };
  const { code } = runLoaded({
    main: MAIN,
    args: ['run', '-f', '-', '--', 'cat'],
    cwd,
    env: { PATH: process.env['PATH'] ?? '', HOME: cwd },
    print: (descriptor, bytes) => {
      printed[descriptor] += bytes.toString();
    },
  });
  expect(isLoadedRunning()).toBe(true);
  expect(process.cwd()).toBe(cwd);
  expect(await code).toBe(2);
  expect(printed[1]).toBe('');
  expect(printed[2]).toMatch(/^ralph: error: the prompt is empty: stdin has no text; /);
  expect(isLoadedRunning()).toBe(false);
  expect(stateOfProcess()).toEqual(before);
});

/** What a command could leave changed. */
function stateOfProcess(): unknown {
  return {
    cwd: process.cwd(),
    env: { ...process.env },
    argv: process.argv,
    exitCode: process.exitCode,
    listeners: ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name)),
    streams: [process.stdin, process.stdout, process.stderr].map((stream) => stream.constructor.name),
  };
}
