import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeLock } from './lock.ts';
import { thisProcess } from './lock-owner.ts';

const FIXTURE = fileURLToPath(new URL('../../test/fixtures/takes-lock.mjs', import.meta.url));

let folder: string;
let path: string;
let children: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-lock-'));
  path = join(folder, 'loop', 'lock');
  children = [];
});
afterEach(async () => {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    }),
  );
  rmSync(folder, { recursive: true, force: true });
});

interface Contender {
  readonly child: ChildProcess;
  /** The next line that it prints. */
  readonly line: () => Promise<string>;
}
const contend = (...more: string[]): Contender => {
  const child = spawn(process.execPath, [FIXTURE, path, ...more], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return { child, line: async () => String((await lines.next()).value) };
};
const me = thisProcess();
const gone = (child: ChildProcess) => new Promise((resolve) => child.once('exit', resolve));

describe('the lock of a loop', () => {
  it('has one owner, which other processes can see', async () => {
    const mine = await takeLock(path, me);
    expect(mine.taken).toBe(true);
    expect(await contend().line()).toBe(`refused ${process.pid}`);
    if (mine.taken) mine.release();
    expect(await contend().line()).toBe('taken');
  });

  it('goes to exactly one of fifty processes that want it at once', { timeout: 60_000 }, async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => contend().line()));
    expect(answers.filter((answer) => answer === 'taken')).toHaveLength(1);
  });

  it('is taken together with others, except those that another process has', async () => {
    const paths = Array.from({ length: 20 }, (_, index) => join(folder, String(index), 'lock'));
    path = paths[7] ?? '';
    expect(await contend().line()).toBe('taken');
    const locks = await Promise.all(paths.map((one) => takeLock(one, me)));
    expect(locks.flatMap(({ taken }, index) => (taken ? [] : [index]))).toEqual([7]);
    path = paths[3] ?? '';
    expect(await contend().line()).toBe(`refused ${process.pid}`);
    for (const lock of locks) if (lock.taken) lock.release();
    expect(await contend().line()).toBe('taken');
  });

  it('goes to one of many that want it in one process', async () => {
    const locks = await Promise.all(Array.from({ length: 40 }, () => takeLock(path, me)));
    const taken = locks.filter((lock) => lock.taken);
    expect(taken).toHaveLength(1);
    for (const lock of taken) lock.release();
    const [again] = await Promise.all([takeLock(path, me), takeLock(`${path}-2`, me)]);
    expect(again.taken).toBe(true);
  });

  it('stays with an owner that was stopped with SIGSTOP', async () => {
    const owner = contend();
    expect(await owner.line()).toBe('taken');
    owner.child.kill('SIGSTOP');
    expect(await takeLock(path, me)).toMatchObject({ taken: false, owner: { pid: owner.child.pid } });
  });

  it('is free as soon as its owner is killed, even while the agent of that owner runs', async () => {
    const owner = contend('300');
    const agent = Number((await owner.line()).replace('agent ', ''));
    expect(await owner.line()).toBe('taken');
    owner.child.kill('SIGKILL');
    await gone(owner.child);
    const mine = await takeLock(path, me);
    process.kill(agent, 'SIGKILL');
    expect(mine.taken).toBe(true);
    if (mine.taken) mine.release();
  });

  it(
    'is waited for a moment if its owner has ended and the kernel has not freed it yet',
    { tags: ['flock'] },
    async () => {
      mkdirSync(join(folder, 'loop'));
      const holder = spawn('flock', [path, 'sh', '-c', 'echo locked; read end'], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      children.push(holder);
      await once(holder.stdout, 'data');
      writeFileSync(path, JSON.stringify({ ...me, since: 'before this process' }));
      expect((await takeLock(path, me)).taken).toBe(false);
      let tries = 0;
      const open = (): number => {
        if (++tries === 2) holder.stdin.end();
        return openSync(path, 'r+');
      };
      const mine = await takeLock(path, me, open);
      expect(mine.taken).toBe(true);
      if (mine.taken) mine.release();
    },
  );

  it('works without the flock program', async () => {
    const { PATH } = process.env;
    process.env['PATH'] = folder;
    const [first, second] = [await takeLock(path, me), await takeLock(path, me)];
    process.env['PATH'] = PATH;
    expect([first.taken, second.taken]).toEqual([true, false]);
    if (first.taken) first.release();
  });

  it('can be taken again after its file was removed', { tags: ['flock'] }, async () => {
    const old = await takeLock(path, me);
    rmSync(path);
    const fresh = await takeLock(path, me);
    expect([old.taken, fresh.taken]).toEqual([true, true]);
    for (const lock of [old, fresh]) if (lock.taken) lock.release();
  });
});
