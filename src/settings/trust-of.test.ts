import { join } from 'node:path';
import { beforeEach, expect, it, vi } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import { readSettings } from './read.ts';
import { keepConsent, trustOf } from './trust-of.ts';

const none = await readSettings(null);
const files = { ...none, shared: { setup: ['make'] } };
const changed = { ...files, shared: { setup: ['make all'] } };
const inside = { folder: '/nowhere' };

let workspace: string;
beforeEach(() => {
  workspace = openLibraryFolder();
  vi.stubEnv('RALPH_TRUST', '');
});

const isTrusted = (...args: Parameters<typeof trustOf>): boolean => trustOf(...args).isTrusted;

it('trusts what the user has agreed to, and nothing that was changed since', () => {
  expect(isTrusted(none, workspace)).toBe(true);
  expect(isTrusted(files, workspace)).toBe(false);
  const { open } = trustOf(files, workspace);
  expect(open).toEqual([{ file: '.ralph/settings.json', content: { setup: ['make'] } }]);
  expect(isTrusted(files, workspace, open)).toBe(true);
  expect(isTrusted(changed, workspace, open)).toBe(false);
  expect(isTrusted(changed, workspace, true)).toBe(true);
  keepConsent(workspace, open);
  expect(trustOf(files, workspace)).toMatchObject({ isTrusted: true, open: [] });
  expect(isTrusted(changed, workspace)).toBe(false);
});

it('trusts a recorded consent only where no repository can put it', () => {
  vi.stubEnv('RALPH_STATE', join(workspace, 'state'));
  const { open } = trustOf(files, workspace);
  keepConsent(workspace, open);
  expect(isTrusted(files, workspace)).toBe(false);
  expect(isTrusted(files, workspace, open)).toBe(true);
});

it('takes RALPH_TRUST=1 for consent, and inside a run only what a person has recorded', () => {
  vi.stubEnv('RALPH_TRUST', '1');
  expect(isTrusted(files, workspace)).toBe(true);
  expect(isTrusted(files, workspace, true, inside)).toBe(false);
  expect(isTrusted(files, workspace, trustOf(files, workspace).open, inside)).toBe(false);
  keepConsent(workspace, trustOf(files, workspace).open);
  expect(isTrusted(files, workspace, false, inside)).toBe(true);
});
