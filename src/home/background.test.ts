import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  backgroundFolder,
  dismiss,
  enlist,
  enlisted,
  forgetRefusal,
  isEnlisted,
  refuse,
  whyRefused,
} from './background.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'ralph-background-'));
  vi.stubEnv('RALPH_STATE', state);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(state, { recursive: true, force: true });
});

it('has an entry for each loop that the daemon should own, until it is taken away', () => {
  expect(enlisted()).toEqual([]);
  enlist('b');
  enlist('a');
  expect(enlisted()).toEqual(['a', 'b']);
  dismiss('a');
  expect(enlisted()).toEqual(['b']);
  expect(isEnlisted('a')).toBe(false);
});

it('keeps why a loop was refused, on one line and for this user only, until it is entered again', () => {
  enlist('a');
  expect(whyRefused('a')).toBeNull();
  refuse('a', 'no such\n  folder\n');
  expect(enlisted()).toEqual([]);
  expect(whyRefused('a')).toBe('no such | folder');
  expect(whyRefused('b')).toBeNull();
  expect(statSync(join(backgroundFolder(), 'a')).mode & 0o777).toBe(0o600);
  enlist('a');
  expect(isEnlisted('a')).toBe(true);
  expect(whyRefused('a')).toBeNull();
});

it('forgets a refusal when a person takes the loop over, or with the loop, and no entry of a loop', () => {
  for (const forget of [forgetRefusal, dismiss]) {
    enlist('a');
    refuse('a', 'why');
    forget('a');
    expect(readdirSync(backgroundFolder())).toEqual([]);
  }
  enlist('a');
  forgetRefusal('a');
  expect(isEnlisted('a')).toBe(true);
});

it('cuts a reason that is long', () => {
  enlist('a');
  refuse('a', 'ü'.repeat(10_000));
  expect(whyRefused('a')).toHaveLength(2000);
});

it('leaves an entry that it cannot change', () => {
  mkdirSync(join(backgroundFolder(), 'a'), { recursive: true });
  refuse('a', 'why');
  expect(enlisted()).toEqual(['a']);
  expect(readdirSync(backgroundFolder())).toEqual(['a']);
  rmSync(backgroundFolder(), { recursive: true });
  writeFileSync(backgroundFolder(), '');
  refuse('a', 'why');
  expect(enlisted()).toEqual([]);
});
