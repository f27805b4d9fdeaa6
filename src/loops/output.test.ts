import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openState, registerLoop } from '../../test/rig/loop-folder.ts';
import { lineOf } from '../journal/lines.ts';
import type { LoopEvent } from '../loop/event.ts';
import { maskOf } from '../home/mask.ts';
import type { LoopFolder } from '../home/home.ts';
import { localLoops } from './local-loops.ts';
import type { LoopRef } from './loops.ts';
import type { Chunk, What } from './output.ts';

const loops = localLoops();
const SECRET = 'abcdefgh12345678';
const KEY = 'sk-abcdefghijklmnopqrst';
const receipt = { pid: 1, startTime: '1', bootId: 'b', pidNamespace: 'n' };
const planned = (run: string, at: number): LoopEvent => ({
  type: 'run.planned',
  run,
  purpose: 'work',
  guidance: [],
  prompt: null,
  at,
});
const started = (run: string, at: number): LoopEvent => ({ type: 'run.started', run, receipt, at });
const ended = (run: string, at: number): LoopEvent => ({
  type: 'run.ended',
  run,
  ending: { how: 'exited', code: 0, error: null },
  as: 'ok',
  jitter: 0,
  at,
});

let folder: LoopFolder;
let ref: LoopRef;
let stdout: string;
function make(events: readonly LoopEvent[]): void {
  vi.stubEnv('THE_API_KEY', SECRET);
  folder = registerLoop(openState(), 'it', events);
  ref = { id: folder.id, name: folder.name, workspace: folder.workspace };
  mkdirSync(join(folder.run('1.1'), 'checks'), { recursive: true });
  stdout = join(folder.run('1.1'), 'stdout.log');
}
const begun: readonly LoopEvent[] = [{ type: 'iteration.started', iteration: 1, at: 1 }, planned('1.1', 1)];
beforeEach(() => make([...begun, started('1.1', 2), ended('1.1', 3)]));

const piece = (from: number, bytes: number, what: What = 'stdout'): Promise<Chunk> =>
  loops.output(ref, '1.1', what, { from, bytes });
const text = ({ data }: Chunk): string => Buffer.from(data, 'base64').toString('utf8');

/** The file in pieces of this size, from a place on. */
async function inPieces(bytes: number, from = 0): Promise<{ shown: string; next: number }> {
  const shown: Buffer[] = [];
  for (let at = from; ;) {
    // oxlint-disable-next-line no-await-in-loop -- one piece after the other
    const chunk = await piece(at, bytes);
    expect(chunk.from).toBe(at);
    shown.push(Buffer.from(chunk.data, 'base64'));
    if (chunk.next === at) return { shown: Buffer.concat(shown).toString('utf8'), next: at };
    at = chunk.next;
  }
}

/** Longer than what is read before a place. */
const words = fc.array(
  fc.oneof(
    fc.constantFrom(
      SECRET,
      SECRET.slice(0, 7),
      KEY,
      '\n',
      ' ',
      'a',
      'é',
      'token',
      ':',
      '=',
      `x${SECRET}${SECRET}`,
    ),
    fc.string({ maxLength: 5 }),
  ),
  { maxLength: 200, size: 'max' },
);

describe('the output of a run', () => {
  it('comes in pieces of any size without a gap, a repeat or a part of a secret', async () => {
    await fc.assert(
      fc.asyncProperty(words, fc.integer({ min: 1, max: 200 }), async (parts, bytes) => {
        writeFileSync(stdout, parts.join(''));
        const { shown } = await inPieces(bytes);
        expect(shown).toBe(maskOf(ref).text(parts.join('')));
      }),
      { numRuns: 100 },
    );
  });

  it('from anywhere has no part of a secret', async () => {
    writeFileSync(stdout, `${SECRET} and ${SECRET}\n${SECRET}`);
    for (let from = 0; from < 54; from++)
      for (const bytes of [1, 5, 20]) {
        // oxlint-disable-next-line no-await-in-loop -- one place after the other
        const shown = text(await piece(from, bytes));
        for (let at = 0; at + 4 <= SECRET.length; at++) expect(shown).not.toContain(SECRET.slice(at, at + 4));
      }
  });

  it('goes on where it was while the run prints', async () => {
    make([...begun, started('1.1', 2)]);
    writeFileSync(stdout, `first ${SECRET.slice(0, 9)}`);
    const first = await piece(0, 1000);
    expect({ text: text(first), after: first.after }).toEqual({ text: 'first ', after: 'open' });
    appendFileSync(stdout, `${SECRET.slice(9)} second\n`);
    const second = await piece(first.next, 1000);
    expect({ text: text(second), after: second.after }).toEqual({
      text: '<redacted> second\n',
      after: 'open',
    });
    expect(await piece(second.next, 1000)).toEqual({ ...second, from: second.next, data: '' });
  });

  it('goes on in the word that it has shown without a wait, unless the word has become a key', async () => {
    make([...begun, started('1.1', 2)]);
    writeFileSync(stdout, 'hello wor');
    const first = await piece(0, 1000);
    expect({ text: text(first), next: first.next }).toEqual({ text: 'hello wor', next: 9 });
    appendFileSync(stdout, 'ld sk-xyz');
    const second = await piece(first.next, 1000);
    expect({ text: text(second), from: second.from }).toEqual({ text: 'ld sk-xyz', from: 9 });
    appendFileSync(stdout, 'defghijklmnopqrst\n');
    const third = await piece(second.next, 1000);
    expect({ text: text(third), from: third.from }).toEqual({ text: '<redacted>\n', from: 12 });
  });

  it('is waited for until there is more, until the run has ended, the time is over or the call is aborted', async () => {
    make([...begun, started('1.1', 2)]);
    writeFileSync(stdout, '');
    const wait = (from: number, ms: number, signal?: AbortSignal): Promise<Chunk> =>
      loops.output(ref, '1.1', 'stdout', { from }, { wait: ms, ...(signal === undefined ? {} : { signal }) });
    const more = wait(0, 60_000);
    appendFileSync(stdout, 'a\n');
    expect(await more).toMatchObject({ next: 2, after: 'open' });
    expect(await wait(2, 5)).toMatchObject({ next: 2, data: '', after: 'open' });
    expect(await wait(2, 60_000, AbortSignal.abort())).toMatchObject({ data: '' });
    const last = wait(2, 60_000);
    appendFileSync(folder.journal, lineOf(ended('1.1', 4), 5));
    expect(await last).toMatchObject({ next: 2, data: '', after: 'end' });
  });

  it('ends with the run, and is there of checks and prompts, too', async () => {
    writeFileSync(stdout, 'a\nb\n');
    writeFileSync(folder.prompt('1.1'), 'do it');
    writeFileSync(join(folder.run('1.1'), 'checks', 'npm-test.log'), 'ok\n');
    expect(await piece(0, 2)).toMatchObject({ next: 2, size: 4, after: 'more' });
    expect(await piece(0, 5)).toEqual({ from: 0, next: 4, size: 4, data: 'YQpiCg==', after: 'end' });
    expect(text(await piece(0, 10, 'prompt'))).toBe('do it');
    expect(text(await piece(0, 10, { check: 'npm-test' }))).toBe('ok\n');
    expect(await piece(0, 10, 'stderr')).toMatchObject({ size: 0, data: '', after: 'end' });
  });

  it('is read from the folder of the loop only', async () => {
    symlinkSync('/etc/passwd', stdout);
    await expect(piece(0, 10)).rejects.toThrow('cannot read the output of run 1.1');
    symlinkSync('/etc', folder.run('2.1'));
    await expect(loops.output(ref, '2.1', 'stdout', { from: 0 })).rejects.toThrow('cannot read');
    for (const [run, what] of [
      ['../1', 'stdout'],
      ['1.1', { check: '../stdout' }],
      ['1.1', { check: '..' }],
    ] as const)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect(loops.output(ref, run, what, { from: 0 })).rejects.toThrow('no such output');
  });
});

it('the runs of a loop have their times and the logs of their checks', async () => {
  mkdirSync(folder.run('1.2'), { recursive: true });
  mkdirSync(folder.run('10.1'), { recursive: true });
  writeFileSync(join(folder.run('1.1'), 'checks', 'a.log'), '');
  expect(await loops.runs(ref)).toEqual([
    { run: '1.1', startedAt: 2, endedAt: 3, folder: folder.run('1.1'), checks: ['a'] },
    { run: '1.2', startedAt: null, endedAt: null, folder: folder.run('1.2'), checks: [] },
    { run: '10.1', startedAt: null, endedAt: null, folder: folder.run('10.1'), checks: [] },
  ]);
});
