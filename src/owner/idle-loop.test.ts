import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { begun, given, plain } from '../../test/rig/given.ts';
import { NOTHING_KNOWN } from '../loop/report.ts';
import { processes } from '../process/process.ts';
import { LoopFolder } from '../home/home.ts';
import { takeLock } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import type { LoopReading } from '../home/read-loop.ts';
import { runMarker } from '../home/run-environment.ts';
import { withIdleLoop } from './idle-loop.ts';
import { rewindMarker } from './recovery.ts';

let workspace: string;
let loop: LoopReading;
beforeEach(() => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-idle-')));
  loop = {
    folder: new LoopFolder({ id: 'it-1a2b3c4d', name: 'it', workspace }, join(workspace, 'state')),
    spec: {
      version: 1,
      id: 'it-1a2b3c4d',
      name: 'it',
      workspace,
      created: '2026-01-01T00:00:00.000Z',
      agent: { kind: 'custom', argv: ['true'] },
      prompt: { text: '' },
      parent: null,
    },
    ...NOTHING_KNOWN,
    owner: null,
    read: { events: 0, bytes: 0 },
    trouble: null,
  };
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

const lock = () => takeLock(loop.folder.lock, thisProcess());

describe('withIdleLoop', () => {
  it('holds the lock of the loop while the work is done, and releases it after a failure', async () => {
    const work = withIdleLoop(loop, async () => {
      expect((await lock()).taken).toBe(false);
      throw new Error('failed');
    });
    await expect(work).rejects.toThrow('failed');
    expect((await lock()).taken).toBe(true);
  });

  it('refuses a loop that is running', async () => {
    const held = await lock();
    await expect(withIdleLoop(loop, async () => {})).rejects.toThrow(
      `the loop "it" is running (process ${process.pid}); pause it first with: ralph pause it`,
    );
    if (held.taken) held.release();
  });

  it('refuses a loop whose agent has outlived its owner', async () => {
    const receipt = processes.birth(process.pid);
    if (receipt === null) throw new Error('this process has no birth');
    const [iteration, planned] = begun;
    if (iteration === undefined || planned === undefined) throw new Error('no run to start');
    const state = given(plain, iteration, planned, { type: 'run.started', run: '1.1', receipt });
    await expect(withIdleLoop({ ...loop, state }, async () => {})).rejects.toThrow(
      `the agent of "it" (process ${process.pid}) is still running`,
    );
  });

  it('refuses a loop whose owner died before it could journal that its agent started', async () => {
    const { name, value } = runMarker(loop.spec, '1.1');
    const agent = spawn('sleep', ['60'], { env: { ...process.env, [name]: value } });
    onTestFinished(() => void agent.kill('SIGKILL'));
    await once(agent, 'spawn');
    const [iteration, planned] = begun;
    if (iteration === undefined || planned === undefined) throw new Error('no run to plan');
    const state = given(plain, iteration, planned);
    await expect(withIdleLoop({ ...loop, state }, async () => {})).rejects.toThrow(
      `the agent of "it" (process ${agent.pid}) is still running`,
    );
  });

  it('ends the rewind of a process that died', async () => {
    const { name, value } = rewindMarker(loop.spec);
    // A rewind has it for as long as its gits change files.
    mkdirSync(loop.folder.rewindScratch, { recursive: true });
    const git = spawn('sleep', ['60'], { env: { PATH: process.env['PATH'], [name]: value } });
    const ended = once(git, 'exit');
    await once(git, 'spawn');
    await withIdleLoop(loop, async () => {});
    expect(await ended).toEqual([null, 'SIGTERM']);
    expect(existsSync(loop.folder.rewindScratch)).toBe(false);
  });
});
