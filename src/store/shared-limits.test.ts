import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accountKey, shareLimit, sharedLimit, unshareLimit } from './shared-limits.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'ralph-limits-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

describe('a limit that is shared', () => {
  const limit = { resetsAt: 5000, message: 'later', metAt: 1000 };

  it('is known to the same account until it is over, or is taken back', () => {
    const account = accountKey('claude', ['key']);
    expect(sharedLimit(account, 0, state)).toBeNull();
    shareLimit(account, limit, state);
    expect(sharedLimit(account, 4999, state)).toEqual(limit);
    expect(sharedLimit(account, 5000, state)).toBeNull();
    expect(sharedLimit(accountKey('claude', ['other']), 0, state)).toBeNull();
    // One that began before the limit was met says nothing about it.
    unshareLimit(account, 999, state);
    expect(sharedLimit(account, 0, state)).toEqual(limit);
    unshareLimit(account, 1000, state);
    expect(sharedLimit(account, 0, state)).toBeNull();
    shareLimit(account, { ...limit, resetsAt: 1e300 }, state);
    expect(sharedLimit(account, 0, state)).toBeNull();
  });

  it('gives no key away, and whatever is there instead is none', () => {
    const account = accountKey('claude', ['sk-very-secret']);
    shareLimit(account, limit, state);
    expect(readdirSync(join(state, 'limits'))).toEqual([`${account}.json`]);
    expect(account).not.toContain('secret');
    expect(statSync(join(state, 'limits')).mode & 0o777).toBe(0o700);
    writeFileSync(join(state, 'limits', `${account}.json`), '{"resetsAt":"soon"');
    expect(sharedLimit(account, 0, state)).toBeNull();
    // A state folder that is a file.
    const file = join(state, 'file');
    writeFileSync(file, '');
    shareLimit(account, limit, file);
    unshareLimit(account, 0, file);
    expect(sharedLimit(account, 0, file)).toBeNull();
  });
});
