import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Tail } from './tail.ts';
import { watchFolder } from './watch.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-tail-'));
  path = join(folder, 'out');
  writeFileSync(path, '');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('Tail', () => {
  it('reads existing, new and final content', async () => {
    appendFileSync(path, 'before ');
    let seen = '';
    let arrived = (): void => {};
    const tail = new Tail(path, 0, (chunk) => {
      seen += chunk.toString();
      arrived();
    });
    tail.look();
    const stop = watchFolder(folder, () => tail.look());
    await new Promise<void>((resolve) => {
      arrived = () => (seen.includes('during') ? resolve() : undefined);
      appendFileSync(path, 'during ');
    });
    stop();
    appendFileSync(path, 'last');
    await tail.close();
    expect(seen).toBe('before during last');
    expect(tail.offset).toBe(18);
  });

  it('closes its file once, also after a chunk that could not be taken', async () => {
    appendFileSync(path, 'text');
    const tail = new Tail(path, 0, () => {
      throw new Error('cannot take it');
    });
    const open = readdirSync('/dev/fd').length;
    await expect(tail.close()).rejects.toThrow('cannot take it');
    expect(readdirSync('/dev/fd')).toHaveLength(open - 1);
    await tail.close('leave');
    expect(readdirSync('/dev/fd')).toHaveLength(open - 1);
  });

  it('starts at the given offset', async () => {
    appendFileSync(path, 'known new');
    const chunks: string[] = [];
    const tail = new Tail(path, 6, (chunk) => void chunks.push(chunk.toString()));
    await tail.close();
    expect(chunks.join('')).toBe('new');
  });

  it('reads all of a flood and yields to the event loop in between', async () => {
    const flood = Buffer.alloc(5_000_000, 'x');
    writeFileSync(path, flood);
    let bytes = 0;
    const tail = new Tail(path, 0, (chunk) => {
      bytes += chunk.length;
    });
    tail.look();
    let turns = 0;
    for (; bytes < flood.length && turns < 1_000_000; turns++) {
      // oxlint-disable-next-line no-await-in-loop -- counts turns of the event loop
      await new Promise(setImmediate);
    }
    await tail.close();
    expect(bytes).toBe(flood.length);
    expect(turns).toBeGreaterThan(5);
  });
});
