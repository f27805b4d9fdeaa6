import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { consentsFor, hasConsent, recordConsent, revokeConsent, unprotectedState } from './trust.ts';

let folder: string;
let state: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-trust-')));
  state = join(folder, 'state');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const a = { file: '.ralph/settings.json', content: { setup: ['a'] } };
const b = { file: '.ralph/settings.json', content: { setup: ['b'] } };
const file = (): string => join(state, 'trust', readdirSync(join(state, 'trust'))[0] ?? '');
/** Changes the recorded text. */
const edit = (change: (text: string) => string): void =>
  writeFileSync(file(), change(readFileSync(file(), 'utf8')));

describe('recorded consent', () => {
  it('holds for one workspace, file and content, also after another one', () => {
    recordConsent('/w', [a], state);
    recordConsent('/w', [b], state);
    recordConsent('/w', [a], state);
    const consents = consentsFor('/w', state);
    expect(consents.map(({ content }) => content)).toEqual([b.content, a.content]);
    expect(hasConsent(a, consents) && hasConsent(b, consents)).toBe(true);
    expect(hasConsent({ ...a, file: '.ralph/settings.local.json' }, consents)).toBe(false);
    expect(hasConsent({ ...a, content: { setup: ['a', 'b'] } }, consents)).toBe(false);
    expect(consentsFor('/w/x', state)).toEqual([]);
    expect(revokeConsent('/w', state)).toBe(true);
    expect(consentsFor('/w', state)).toEqual([]);
    expect(revokeConsent('/w', state)).toBe(false);
  });

  it.each([
    ['no JSON', () => '{'],
    ['no record', () => '[]'],
    ['null', () => 'null'],
    ['another workspace', (text: string) => text.replace('"/w"', '"/v"')],
    ['another version', (text: string) => text.replace('"version":1', '"version":2')],
    ['a content that its hash is not of', (text: string) => text.replace('["a"]', '["b"]')],
    ['consents that are no list', (text: string) => text.replace(/"consents":.*\]/, '"consents":{}')],
    ['a consent without a content', (text: string) => text.replace(/"content":\{.*?\},/, '')],
  ])('is void in a file with %s', (_, change) => {
    recordConsent('/w', [a], state);
    edit(change);
    expect(consentsFor('/w', state)).toEqual([]);
    // It is replaced by the next one.
    recordConsent('/w', [b], state);
    expect(hasConsent(b, consentsFor('/w', state))).toBe(true);
  });

  it('keeps a bounded number of contents', () => {
    for (let number = 0; number < 60; number++)
      recordConsent('/w', [{ ...a, content: { maxCost: number } }], state);
    const consents = consentsFor('/w', state);
    expect(consents).toHaveLength(50);
    expect(consents.at(-1)?.content).toEqual({ maxCost: 59 });
  });

  it('is protected outside of the workspace only', () => {
    const workspace = join(folder, 'w');
    mkdirSync(workspace);
    expect(unprotectedState(workspace, state)).toBeNull();
    expect(unprotectedState(workspace, join(folder, 'w-state'))).toBeNull();
    expect(unprotectedState(workspace, join(workspace, 'state'))).toBe(join(workspace, 'state'));
    expect(unprotectedState(workspace, workspace)).toBe(workspace);
  });
});
