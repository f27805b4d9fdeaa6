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

describe('a shared limit', () => {
  const limit = { resetsAt: 5000, message: 'later', metAt: 1000 };

  it('holds for the same account until it resets or is removed', () => {
    const account = accountKey('claude', ['key']);
    expect(sharedLimit(account, 0, state)).toBeNull();
    shareLimit(account, limit, state);
    expect(sharedLimit(account, 4999, state)).toEqual(limit);
    expect(sharedLimit(account, 5000, state)).toBeNull();
    expect(sharedLimit(accountKey('claude', ['other']), 0, state)).toBeNull();
    // A run that started before the limit was hit proves nothing.
    unshareLimit(account, 999, state);
    expect(sharedLimit(account, 0, state)).toEqual(limit);
    unshareLimit(account, 1000, state);
    expect(sharedLimit(account, 0, state)).toBeNull();
    shareLimit(account, { ...limit, resetsAt: 1e300 }, state);
    expect(sharedLimit(account, 0, state)).toBeNull();
  });

  it('does not reveal a key, and ignores files that it cannot read or write', () => {
    const account = accountKey('claude', ['sk-very-secret']);
    shareLimit(account, limit, state);
    expect(readdirSync(join(state, 'limits'))).toEqual([`${account}.json`]);
    expect(account).not.toContain('secret');
    expect(statSync(join(state, 'limits')).mode & 0o777).toBe(0o700);
    writeFileSync(join(state, 'limits', `${account}.json`), '{"resetsAt":"soon"');
    expect(sharedLimit(account, 0, state)).toBeNull();
    // The state folder is a file.
    const file = join(state, 'file');
    writeFileSync(file, '');
    shareLimit(account, limit, file);
    unshareLimit(account, 0, file);
    expect(sharedLimit(account, 0, file)).toBeNull();
  });
});
