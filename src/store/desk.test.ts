import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { copyToDesk, putOnDesk } from './desk.ts';
import { Desk, LoopFolder } from './store.ts';

let desk: Desk;
let outside: string;
beforeEach(() => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-desk-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  desk = new Desk(join(root, 'workspace'), 'it');
  mkdirSync(desk.path, { recursive: true });
  outside = join(root, 'outside');
  mkdirSync(outside);
});

describe('a desk', () => {
  it('S1.60 moves a link or a file aside that stands in the place of a folder', () => {
    symlinkSync(outside, desk.runs);
    putOnDesk(desk, desk.prompt('1.1'), 'first');
    expect(readlinkSync(`${desk.runs}.aside-1`)).toBe(outside);
    rmSync(desk.run('1.1'), { recursive: true });
    writeFileSync(desk.run('1.1'), 'a file');
    putOnDesk(desk, desk.prompt('1.1'), 'second');
    expect(readFileSync(`${desk.run('1.1')}.aside-1`, 'utf8')).toBe('a file');
    expect(readFileSync(desk.prompt('1.1'), 'utf8')).toBe('second');
    expect(readdirSync(outside)).toEqual([]);
  });

  it('S1.62 keeps the copy of a log as private as the log, also of a long one', () => {
    const folder = new LoopFolder({ id: 'it-12345678', name: 'it', workspace: desk.workspace }, outside);
    for (const bytes of [10, 101]) {
      const log = join(outside, 'stdout.log');
      writeFileSync(log, Buffer.alloc(bytes, 'x'), { mode: 0o600 });
      copyToDesk(folder, log, desk.stdout('1.1'), 100);
      expect(statSync(desk.stdout('1.1')).mode & 0o777).toBe(0o600);
    }
  });

  it('S2.57 has all of a log up to 64 MiB, and the end of a longer one, which says how much it is', () => {
    const folder = new LoopFolder({ id: 'it-12345678', name: 'it', workspace: desk.workspace }, outside);
    const log = join(outside, 'check.log');
    const most = 64 * 2 ** 20;
    for (const more of [0, 5]) {
      writeFileSync(log, 'start');
      truncateSync(log, most + more - 4);
      appendFileSync(log, 'end\n');
      copyToDesk(folder, log, desk.stdout('1.1'));
      const copy = readFileSync(desk.stdout('1.1'));
      expect(copy.subarray(-4).toString()).toBe('end\n');
      const note = `[the last ${most} of ${most + 5} bytes, since a copy has at most that many; the complete log, out of reach of a sandbox, is ${log}]\n`;
      const head = more === 0 ? 'start' : `${note}\0`;
      expect(copy.subarray(0, head.length).toString()).toBe(head);
      expect(copy.length).toBe(more === 0 ? most : most + note.length);
    }
  });

  it('S1.60 refuses a link in its own place', () => {
    rmSync(desk.path, { recursive: true });
    symlinkSync(outside, desk.path);
    expect(() => putOnDesk(desk, desk.prompt('1.1'), 'text')).toThrow('is a symbolic link');
    expect([existsSync(desk.path), readdirSync(outside)]).toEqual([true, []]);
  });
});
