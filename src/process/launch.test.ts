import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { launchShim } from './launch.ts';
import { isAlive, readStat } from './proc-files.ts';
import { procfs } from './procfs.ts';
import { exitStatus, shimPid, type Shim } from './shim.ts';
import { stopRun } from './stop.ts';

let folder: string;
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "ralph-launch-'Ł-")));
  // The first shim of a process is started directly.
  await (
    await launch('true', {}, 'first')
  ).ended;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string) => join(folder, name);
const text = (name: string) => readFileSync(file(name), 'utf8');
const marker = () => ({ name: 'RALPH_RUN_ID', value: folder });
const PATH = process.env['PATH'] ?? '';

function launch(script: string, env: Record<string, string> = {}, name = 'run'): Promise<Shim> {
  writeFileSync(file('prompt'), 'do it\n');
  return launchShim({
    folder,
    hasFiles: name === 'run',
    argv: ['/bin/sh', '-c', script],
    cwd: folder,
    env: { PATH, RALPH_RUN_ID: folder, ...env },
    stdin: file('prompt'),
    stdout: file(`${name}.out`),
    stderr: file(`${name}.err`),
  });
}

const stop = (shim: Shim) => {
  if (shim.birth === undefined) throw new Error('its birth is not known');
  return stopRun({ shim: shim.birth, marker: marker(), folder, graceMs: 5000 }, procfs);
};
const parentOf = (pid: number) => readStat(pid)?.parent;
const waiting = () => vi.waitFor(() => expect(text('run.out')).toContain('ready'), { interval: 5 });

describe('a shim from a helper shell', () => {
  it('runs the agent with its files, and reports its exit code', async () => {
    writeFileSync(file('run.out'), 'before\n');
    const shim = await launch('cat; echo oops >&2; exit 7');
    expect(await shim.ended).toBe(7);
    expect([text('run.out'), text('run.err')]).toEqual(['before\ndo it\n', 'oops\n']);
    expect([exitStatus(folder), shimPid(folder)]).toEqual([7, shim.pid]);
  });

  it('leads its own session, and its birth is that of the process table', async () => {
    const shim = await launch('echo ready; sleep 60');
    await waiting();
    expect(shim.birth).toEqual(procfs.birth(shim.pid));
    const [, , group, session] =
      readFileSync(`/proc/${shim.pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    expect([Number(group), Number(session)]).toEqual([shim.pid, shim.pid]);
    expect(parentOf(shim.pid)).not.toBe(process.pid);
    const { ended } = await stop(shim);
    expect(ended).not.toHaveLength(0);
    expect(await shim.ended).toBe(143);
  });

  it('passes on the environment, and no ignored signal', async () => {
    const shim = await launch("env; sed -n 's/^SigIgn:.0*/ignored /p' /proc/self/status", {
      STRANGE: "it's $HOME\n2",
      OLDPWD: '/elsewhere',
    });
    await shim.ended;
    const shown = text('run.out').replace(/^(?:_|SHLVL)=.*\n/gm, '');
    expect(shown.split('\n').toSorted()).toEqual(
      [
        '2',
        '',
        'OLDPWD=/elsewhere',
        `PATH=${PATH}`,
        `PWD=${folder}`,
        `RALPH_RUN_ID=${folder}`,
        "STRANGE=it's $HOME",
        'ignored ',
      ].toSorted(),
    );
  });

  it('does not search for programs of its own in the PATH of the agent', async () => {
    writeFileSync(file('setsid'), '#!/bin/sh\necho planted\n', { mode: 0o755 });
    for (const path of [`${folder}:${PATH}`, '/nowhere']) {
      // oxlint-disable-next-line no-await-in-loop -- one at a time is started from the shell
      const shim = await launch('exit 9', { PATH: path }, 'other');
      expect(parentOf(shim.pid)).not.toBe(process.pid);
      // oxlint-disable-next-line no-await-in-loop -- as above
      expect(await shim.ended).toBe(9);
    }
    expect(text('other.out')).toBe('');
  });

  it('keeps the name of the folder that the environment has', async () => {
    const link = `${folder}-link`;
    symlinkSync(folder, link);
    try {
      await (
        await launch('printf %s "$PWD"', { PWD: link })
      ).ended;
      expect(text('run.out')).toBe(link);
    } finally {
      rmSync(link);
    }
  });

  it('has no exit code if it was killed', async () => {
    const shim = await launch('echo ready; sleep 60');
    await waiting();
    process.kill(-shim.pid, 'SIGKILL');
    expect(await shim.ended).toBeNull();
  });

  it('is stopped with its agent, however early', async () => {
    for (let ms = 0; ms < 6; ms++) {
      /* oxlint-disable no-await-in-loop -- one after the other */
      const shim = await launch('sleep 60', {}, `early-${ms}`);
      await sleep(ms);
      await stop(shim);
      expect(await procfs.marked(marker())).toEqual([]);
      await shim.ended;
      /* oxlint-enable no-await-in-loop */
    }
  });

  it('is started directly beside another one', async () => {
    const first = await launch('echo ready; sleep 60');
    const second = await launch('exit 3', {}, 'second');
    expect(parentOf(second.pid)).toBe(process.pid);
    expect(await second.ended).toBe(3);
    await waiting();
    await stop(first);
    await first.ended;
  });

  it('ends when the agent does, also if the shell that started it was killed', async () => {
    const shim = await launch('echo ready; while [ ! -e go ]; do sleep 0.01; done; exit 4');
    await waiting();
    const shell = parentOf(shim.pid) ?? 0;
    process.kill(shell, 'SIGKILL');
    await vi.waitFor(() => expect(isAlive(readStat(shell))).toBe(false));
    expect(exitStatus(folder)).toBeNull();
    writeFileSync(file('go'), '');
    await shim.ended;
    expect(exitStatus(folder)).toBe(4);
    expect(await (await launch('exit 5', {}, 'next')).ended).toBe(5);
  });

  it('is an error if its folder does not exist', async () => {
    await expect(
      launchShim({
        folder,
        argv: ['/bin/true'],
        cwd: file('gone'),
        env: { PATH },
        stdin: null,
        stdout: file('o'),
        stderr: file('e'),
      }),
    ).rejects.toThrow('check that this folder exists');
    expect(await (await launch('exit 6')).ended).toBe(6);
  });
});
