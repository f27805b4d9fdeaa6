import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeLoopFolder, removeLoopFolder } from '../../test/rig/loop-folder.ts';
import { makeFolders } from '../files/files.ts';
import { openJournal } from '../journal/file.ts';
import type { Happening } from '../loop/event.ts';
import type { LoopFolder } from './home.ts';
import { forgetTrouble, noteTrouble, whySetAside } from './trouble.ts';

let folder: LoopFolder;
beforeEach(() => {
  folder = makeLoopFolder();
  makeFolders(folder.path);
  journals({ type: 'iteration.started', iteration: 1 });
});
afterEach(() => removeLoopFolder(folder));

function journals(...events: readonly Happening[]): void {
  const journal = openJournal(folder.journal, { knownMark: null, begin() {}, take() {} });
  for (const event of events) journal.append({ ...event, at: 1 }, journal.length);
  journal.close();
}

const TAKEN_OVER: Happening = { type: 'owner.changed', owner: '1' };
/** What an owner learns again and again while other loops go on. */
const OF_OTHERS: readonly Happening[] = [
  { type: 'family.counted', below: { loops: 1, usd: 1, tokens: 1 }, above: [] },
  { type: 'limit.shared', resetsAt: 2, message: 'wait', jitter: 0.5 },
];
const NEXT: Happening = { type: 'iteration.started', iteration: 2 };

it('sets a loop aside after two notes at the same event, until a person takes it over', () => {
  expect(whySetAside(folder)).toBeNull();
  noteTrouble(folder, 'slept');
  expect(whySetAside(folder)).toBeNull();
  journals({ type: 'owner.left' }, TAKEN_OVER, ...OF_OTHERS);
  noteTrouble(folder, 'slept\0 again');
  expect(whySetAside(folder)).toBe(
    'set aside: at event 1 of its journal it ended the daemon 2 times, because it slept again',
  );
  expect(statSync(folder.trouble).mode & 0o777).toBe(0o600);
  forgetTrouble(folder);
  expect(whySetAside(folder)).toBeNull();
});

it('begins anew at another event', () => {
  noteTrouble(folder, 'slept');
  journals(TAKEN_OVER, NEXT);
  noteTrouble(folder, 'slept');
  expect(whySetAside(folder)).toBeNull();
  expect(JSON.parse(readFileSync(folder.trouble, 'utf8'))).toEqual({ event: 3, times: 1, what: 'slept' });
});

it('takes a file that is no note for none', () => {
  for (const text of ['', 'x', '{}', '{"event":1,"times":"2","what":"slept"}']) {
    writeFileSync(folder.trouble, text);
    expect(whySetAside(folder)).toBeNull();
  }
});
