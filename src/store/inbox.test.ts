import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isQueued, list, post, remove } from './inbox.ts';

let folder: string;
let inbox: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-inbox-'));
  inbox = join(folder, 'inbox');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the inbox', () => {
  it('lists messages in the order in which they were posted', () => {
    post(inbox, { type: 'tell', text: 'first' }, 9);
    post(inbox, { type: 'pause' }, 10);
    post(inbox, { type: 'resume', now: true }, 100);
    expect(list(inbox).map(({ control }) => control.type)).toEqual(['tell', 'pause', 'resume']);
  });

  it('holds a message until it is removed', () => {
    const id = post(inbox, { type: 'pause' }, 1);
    expect(list(inbox)).toEqual([{ id, control: { type: 'pause' } }]);
    expect(isQueued(inbox, id)).toBe(true);
    remove(inbox, id);
    remove(inbox, id);
    expect(isQueued(inbox, id)).toBe(false);
    expect(list(inbox)).toEqual([]);
  });

  it('is empty if its folder does not exist', () => {
    expect(list(join(folder, 'nowhere'))).toEqual([]);
  });

  it('ignores unfinished files and files that are not messages, and keeps them', () => {
    const id = post(inbox, { type: 'pause' }, 1);
    writeFileSync(join(inbox, '.half'), '{');
    writeFileSync(join(inbox, 'zz.json'), '{"type":"dance"}');
    writeFileSync(join(inbox, 'zzz.json'), 'pause');
    expect(list(inbox)).toEqual([{ id, control: { type: 'pause' } }]);
    expect(readdirSync(inbox)).toHaveLength(4);
  });
});
