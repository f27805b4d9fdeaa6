import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { processes } from '../process/process.ts';
import { functionHost, type Performer } from './function.ts';
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
    processes,
  );
const REQUEST = { run: '1.1', receipt: null };
const said = { events: [{ type: 'result', ok: true }], complaint: 'hm', code: 0 };

/** Everything that it puts out until its end, and its status. */
async function whole(run: HostedRun): Promise<unknown[]> {
  const heard = { stdout: '', stderr: '' };
  run.follow((chunk, stream) => {
    heard[stream] += chunk.toString('utf8');
  });
  await run.ended;
  await run.stop(0);
  return [await run.close('read'), heard.stdout, heard.stderr];
}

it('hands over what was reported and what it came to, and its status', async () => {
  const host = open(async ({ prompt, env, report }) => {
    report({ prompt, env });
    return said;
  });
  const lines = `{"prompt":"the prompt","env":{"A":"1","RALPH_RUN_ID":${JSON.stringify(folder)}}}\n{"type":"result","ok":true}\n`;
  expect(await host.find(REQUEST)).toBeNull();
  expect(await whole(await host.start(REQUEST))).toEqual([0, lines, 'hm']);
  // The same to whoever comes later.
  const found = await open(async () => said).find(REQUEST);
  expect(found === null ? null : await whole(found)).toEqual([0, lines, 'hm']);
});

it('is started at most once, and names no process that could be ended for it', async () => {
  const host = open(() => new Promise(() => {}));
  const run = await host.start(REQUEST);
  expect(run.receipt.pid).toBe(0);
  await expect(host.start(REQUEST)).rejects.toThrow('EEXIST');
  const found = await open(async () => said).find(REQUEST);
  // Another program has had it, and is gone: nobody saw its status.
  expect(found === null ? null : await whole(found)).toEqual([null, '', '']);
  await run.stop(0);
  await run.close('read');
});

it('is heard to its end where it has removed its own folder', async () => {
  const host = open(async ({ report }) => {
    // Once it is followed.
    await Promise.resolve();
    rmSync(join(folder, 'run'), { recursive: true });
    report({ type: 'text', text: 'gone' });
    return said;
  });
  const lines = '{"type":"text","text":"gone"}\n{"type":"result","ok":true}\n';
  const run = await host.start(REQUEST);
  expect(await whole(run)).toEqual([0, lines, 'hm']);
});

it('says when what it came to could not be written', async () => {
  rmSync(join(folder, 'prompt.md'));
  const run = await open(async () => said).start(REQUEST);
  await run.ended;
  await run.stop(0);
  await expect(run.close('read')).rejects.toThrow('ENOENT');
});

it('does not hear what is said after it was left', async () => {
  let speak: (() => void) | undefined;
  const host = open(async ({ signal, report }) => {
    report({ type: 'text', text: 'before' });
    await new Promise<void>((resolve) => {
      speak = resolve;
    });
    expect(signal.aborted).toBe(true);
    report({ type: 'text', text: 'after' });
    return said;
  });
  const run = await host.start(REQUEST);
  await vi.waitFor(() => expect(speak).toBeDefined());
  await run.stop(10);
  speak?.();
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(await run.close('read')).toBeNull();
  expect(readFileSync(join(folder, 'run', 'stdout.log'), 'utf8')).toBe('{"type":"text","text":"before"}\n');
});
