import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Host, HostedRun } from './host.ts';
import { sessionHost, type TurnOutput } from './session.ts';

let folder: string;
let turn: TurnOutput | null;
let prompts: string[];
let host: Host;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-session-host-'));
  turn = null;
  prompts = [];
  host = sessionHost((run) => ({ folder: join(folder, run), prompt: join(folder, 'prompt.md') }), {
    get hasTurn() {
      return turn !== null;
    },
    take() {
      const taken = turn;
      turn = null;
      return taken;
    },
    prompted: (prompt) => void prompts.push(prompt),
  });
  writeFileSync(join(folder, 'prompt.md'), 'do it');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const request = (run: string) => ({ run, receipt: null });

/** The output and the exit code of a run that has ended. */
async function readToEnd(live: HostedRun | null): Promise<{ text: string; code: number | null }> {
  if (live === null) throw new Error('there is no such run');
  await live.ended;
  let text = '';
  live.follow((chunk) => void (text += chunk.toString()));
  expect(await live.stop(0)).toEqual([]);
  const code = await live.close('read');
  return { text, code };
}

it('hands the prompt of a new run to the session, and the run goes on without its owner', async () => {
  const live = await host.start(request('1'));
  expect(prompts).toEqual(['do it']);
  expect(host.outlivesOwner).toBe(true);
  expect(existsSync(join(folder, '1', 'exit'))).toBe(false);
  live.follow(() => {});
  await live.detach();
  await expect(host.start(request('1'))).rejects.toThrow('EEXIST');
});

it('ends the open run with the turn, once', async () => {
  await host.start(request('1'));
  turn = { output: 'said\n', code: 0 };
  expect(await readToEnd(await host.find(request('1')))).toEqual({ text: 'said\n', code: 0 });
  turn = { output: 'another\n', code: 1 };
  expect(await readToEnd(await host.find(request('1')))).toEqual({ text: 'said\n', code: 0 });
  expect(turn).not.toBeNull();
});

it('gives the turn to the next run if none is open, and prompts nothing', async () => {
  turn = { output: 'typed by a person\n', code: 1 };
  expect(await readToEnd(await host.start(request('2')))).toEqual({ text: 'typed by a person\n', code: 1 });
  expect(prompts).toEqual([]);
});

it('finds no run that was never started', async () => {
  turn = { output: 'x', code: 0 };
  expect(await host.find(request('3'))).toBeNull();
  expect(turn).not.toBeNull();
});

it('replaces output that a step could not finish writing', async () => {
  mkdirSync(join(folder, '4'));
  writeFileSync(join(folder, '4', 'started'), '0\n');
  writeFileSync(join(folder, '4', 'stdout.log'), 'half of a tu');
  turn = { output: 'whole\n', code: 0 };
  expect(await readToEnd(await host.find(request('4')))).toEqual({ text: 'whole\n', code: 0 });
  expect(readFileSync(join(folder, '4', 'exit'), 'utf8')).toBe('0\n');
});
