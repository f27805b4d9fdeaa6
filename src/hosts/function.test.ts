import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { functionHost } from './function.ts';
import type { Performer } from './function-call.ts';
import type { HostedRun } from './host.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-function-'));
  mkdirSync(join(folder, 'run'));
  writeFileSync(join(folder, 'prompt.md'), 'the prompt');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (perform: Performer) =>
  functionHost(
    () => ({
      folder: join(folder, 'run'),
      promptFile: join(folder, 'prompt.md'),
      workspace: folder,
      env: { A: '1' },
      marker: { name: 'RALPH_RUN_ID', value: folder },
    }),
    perform,
  );
const REQUEST = { run: '1.1', receipt: null };
const RESULT = { events: [{ type: 'result', ok: true }], stderr: 'hm', code: 0 };

/** The exit code, stdout and stderr of a run, once it has ended. */
async function readToEnd(run: HostedRun): Promise<unknown[]> {
  const output = { stdout: '', stderr: '' };
  run.follow((chunk, stream) => {
    output[stream] += chunk.toString('utf8');
  });
  await run.ended;
  await run.stop(0);
  return [await run.close('read'), output.stdout, output.stderr];
}

it('writes the reports, the result and the exit code of the function', async () => {
  const host = open(async ({ prompt, env, report }) => {
    report({ prompt, env });
    return RESULT;
  });
  const lines = `{"prompt":"the prompt","env":{"A":"1","RALPH_RUN_ID":${JSON.stringify(folder)}}}\n{"type":"result","ok":true}\n`;
  expect(await host.find(REQUEST)).toBeNull();
  expect(await readToEnd(await host.start(REQUEST))).toEqual([0, lines, 'hm']);
  // A later owner reads the same.
  const found = await open(async () => RESULT).find(REQUEST);
  expect(found === null ? null : await readToEnd(found)).toEqual([0, lines, 'hm']);
});

it('starts at most once and has no pid in its receipt', async () => {
  const host = open(() => new Promise(() => {}));
  const run = await host.start(REQUEST);
  expect(run.receipt.pid).toBe(0);
  await expect(host.start(REQUEST)).rejects.toThrow('EEXIST');
  const found = await open(async () => RESULT).find(REQUEST);
  // As after the exit of the program that ran it: there is no exit code.
  expect(found === null ? null : await readToEnd(found)).toEqual([null, '', '']);
  await run.stop(0);
  await run.close('read');
});

it('reads all output of a function that deletes its own folder', async () => {
  const host = open(async ({ report }) => {
    // The test follows the run by now.
    await Promise.resolve();
    rmSync(join(folder, 'run'), { recursive: true });
    report({ type: 'text', text: 'gone' });
    return RESULT;
  });
  const lines = '{"type":"text","text":"gone"}\n{"type":"result","ok":true}\n';
  const run = await host.start(REQUEST);
  expect(await readToEnd(run)).toEqual([0, lines, 'hm']);
});

it('rejects when the prompt cannot be read', async () => {
  rmSync(join(folder, 'prompt.md'));
  const run = await open(async () => RESULT).start(REQUEST);
  await run.ended;
  await run.stop(0);
  await expect(run.close('read')).rejects.toThrow('ENOENT');
});

it('ignores reports after the function was abandoned', async () => {
  let resume: (() => void) | undefined;
  const host = open(async ({ signal, report }) => {
    report({ type: 'text', text: 'before' });
    await new Promise<void>((resolve) => {
      resume = resolve;
    });
    expect(signal.aborted).toBe(true);
    report({ type: 'text', text: 'after' });
    return RESULT;
  });
  const run = await host.start(REQUEST);
  await until('the function', () => resume ?? null, { everyMs: 1 });
  await run.stop(10);
  resume?.();
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(await run.close('read')).toBeNull();
  expect(readFileSync(join(folder, 'run', 'stdout.log'), 'utf8')).toBe('{"type":"text","text":"before"}\n');
});
