import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { processes } from '../process/process.ts';
import { exitStatus, shimPid } from '../process/shim.ts';
import { watchFolder } from '../process/watch.ts';
import type { Host, HostedRun } from './host.ts';
import { processHost, type ProcessSpec } from './process.ts';

let root: string;
let spec: ProcessSpec;
let host: Host;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-host-'));
  spec = {
    folder: join(root, 'runs', '0001'),
    argv: () => ['sh', '-c', 'cat; echo late; exit 3'],
    cwd: root,
    stdin: join(root, 'runs', '0001', 'prompt.md'),
    env: { PATH: process.env['PATH'] ?? '' },
    marker: { name: 'RALPH_RUN_ID', value: root },
  };
  host = processHost(() => spec);
  mkdirSync(spec.folder, { recursive: true });
  writeFileSync(join(spec.folder, 'prompt.md'), 'prompt\n');
});
afterEach(async () => {
  const left = await processes.marked(spec.marker);
  for (const pid of left) process.kill(pid, 'SIGKILL');
  rmSync(root, { recursive: true, force: true });
  if (left.length > 0) throw new Error(`left running: ${left.join(', ')}`);
});
const request = { run: '1.1', receipt: null };
const agent = (script: string): void => {
  spec = { ...spec, argv: () => ['sh', '-c', script] };
};
const found = async (receipt: HostedRun['receipt'] | null = null): Promise<HostedRun> => {
  const run = await host.find({ run: '1.1', receipt });
  if (run === null) throw new Error('the run was not found');
  return run;
};
const readAll = async (run: HostedRun): Promise<{ text: string; code: number | null }> => {
  const chunks: string[] = [];
  run.follow((chunk, stream) => void (stream === 'stdout' && chunks.push(chunk.toString())));
  await run.ended;
  await run.stop(1000);
  const code = await run.close('read');
  return { text: chunks.join(''), code };
};
const appears = (name: string): Promise<void> =>
  new Promise((resolve) => {
    const stop = watchFolder(root, () => {
      try {
        readFileSync(join(root, name));
      } catch {
        return;
      }
      stop();
      resolve();
    });
  });

const childrenOf = (pid: number): readonly string[] =>
  execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .trim()
    .split('\n');

describe('an agent as a process', () => {
  it('reads its prompt from a file, writes its output to files and has an exit code', async () => {
    const run = await host.start(request);
    expect(await readAll(run)).toEqual({ text: 'prompt\nlate\n', code: 3 });
  });

  it('is not found if it was never started', async () => {
    expect(await host.find(request)).toBeNull();
  });

  it('is found with its output and exit code if it ended without an owner', async () => {
    await (
      await host.start(request)
    ).ended;
    expect(await readAll(await found())).toEqual({ text: 'prompt\nlate\n', code: 3 });
  });

  it('is found alive by its receipt and followed from the beginning', async () => {
    agent('echo one; : >begun; until [ -e go ]; do sleep 0.01; done; echo two; exit 4');
    const first = await host.start(request);
    await appears('begun');
    first.follow(() => {});
    await appears('runs/0001/receipt.json');
    const written: unknown = JSON.parse(readFileSync(join(spec.folder, 'receipt.json'), 'utf8'));
    expect(written).toEqual(first.receipt);
    await first.close('leave');
    const second = await found(first.receipt);
    expect(second.receipt).toEqual(first.receipt);
    const reading = readAll(second);
    writeFileSync(join(root, 'go'), '');
    expect(await reading).toEqual({ text: 'one\ntwo\n', code: 4 });
  });

  it('is found alive by its marker if its owner died before writing a receipt', async () => {
    agent(': >begun; until [ -e go ]; do sleep 0.01; done; exit 5');
    const first = await host.start(request);
    await appears('begun');
    rmSync(join(spec.folder, 'receipt.json'), { force: true });
    const second = await found();
    expect(second.receipt.pid).toBe(first.receipt.pid);
    writeFileSync(join(root, 'go'), '');
    expect((await readAll(second)).code).toBe(5);
  });

  it('is not confused with another process that reused its pid', async () => {
    const run = await host.start(request);
    await run.ended;
    rmSync(join(spec.folder, 'exit'));
    const other = spawn('sleep', ['300']);
    const reused = { ...run.receipt, pid: other.pid ?? 0, startTime: '1' };
    const again = await found(reused);
    await again.ended;
    expect(await again.close('read')).toBeNull();
    expect(other.kill('SIGKILL')).toBe(true);
  });

  it.each(['while the run is open', 'after the run has ended'])(
    'does not end another program that a forged receipt names, %s',
    { tags: ['ps'] },
    async (when) => {
      // A process group of its own: the sweep of a run ends the group of its shim.
      const stranger = spawn('sh', ['-c', 'echo ready; sleep 300 & wait'], { detached: true });
      onTestFinished(() => void process.kill(-(stranger.pid ?? 0), 'SIGKILL'));
      await once(stranger.stdout, 'data');
      const birth = processes.birth(stranger.pid ?? 0);
      writeFileSync(join(spec.folder, 'receipt.json'), JSON.stringify(birth));
      writeFileSync(join(spec.folder, 'started'), `${stranger.pid}\n`);
      if (when !== 'while the run is open') writeFileSync(join(spec.folder, 'exit'), '0\n');
      const run = await found();
      expect(await run.stop(0)).toEqual([]);
      await run.close('read');
      expect(birth !== null && processes.lives(birth)).toBe(true);
      expect(childrenOf(stranger.pid ?? 0)).toHaveLength(1);
    },
  );

  it.each(['-1\n', '0\n', '1e3\n', 'x\n', '4711', '{}', ' 7\n', '99999999999\n'])(
    'is not found by a pid that no shim writes: %j',
    (text) => {
      writeFileSync(join(spec.folder, 'started'), text);
      expect(shimPid(spec.folder)).toBeNull();
    },
  );

  it.each(['-1\n', '256\n', 'NaN\n', 'garbage\n', '\n', '0', '0\n\n', '0x10\n'])(
    'has no exit code if the file says what no shim writes: %j',
    (text) => {
      writeFileSync(join(spec.folder, 'exit'), text);
      expect(exitStatus(spec.folder)).toBeNull();
    },
  );

  it('is found and ended without a receipt, also if the agent has emptied its environment', async () => {
    agent('echo >up; exec env -i sleep 300');
    const run = await host.start(request);
    await appears('up');
    const again = await found();
    expect(again.receipt).toEqual(run.receipt);
    await again.stop(1000);
    await run.ended;
    expect(await again.close('read')).toBe(143);
    await run.stop(1000);
  });

  it('is found and stopped after its shim was killed', { tags: ['setsid'] }, async () => {
    agent(': >begun; sleep 300 & setsid sleep 300 & wait');
    const first = await host.start(request);
    await appears('begun');
    process.kill(first.receipt.pid, 'SIGKILL');
    await first.ended;
    const second = await found(first.receipt);
    await second.stop(1000);
    await second.ended;
    expect(await second.close('read')).toBeNull();
    expect(await processes.marked(spec.marker)).toEqual([]);
  });

  it('S1.45 reports why it cannot be started, also for a shell builtin', async () => {
    const kind = async (argv: readonly string[]): Promise<string> => {
      spec = { ...spec, argv: () => argv };
      return host.start(request).then(
        () => 'started',
        (error: { error: { kind: string } }) => error.error.kind,
      );
    };
    writeFileSync(join(root, 'plain'), 'no program');
    expect(await kind(['no-such-program'])).toBe('command-not-found');
    expect(await kind(['./plain'])).toBe('not-executable');
    expect(await kind(['exit', '0'])).toBe('command-not-found');
    expect(await kind([''])).toBe('command-not-found');
  });
});
