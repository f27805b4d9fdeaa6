import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openJournal } from '../journal/file.ts';
import { DEFAULT_POLICY } from '../loop/default-policy.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { LedgerAccess } from '../loop/family.ts';
import { INITIAL } from '../loop/initial.ts';
import type { LoopState } from '../loop/state.ts';
import { exits } from '../../test/rig/world.ts';
import { play } from '../../test/rig/play.ts';
import { familyNow, ledgerAccess, openEntry, placeBelow, setLimits, upperEntries } from './family.ts';
import { writeSpec, type FamilyPlace } from './spec.ts';
import { STATE } from './state-folder.ts';
import { LoopFolder } from './home.ts';

let root: string;
let before: string | undefined;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-family-'));
  before = process.env[STATE];
  process.env[STATE] = root;
});
afterEach(() => {
  if (before === undefined) delete process.env[STATE];
  else process.env[STATE] = before;
  rmSync(root, { recursive: true, force: true });
});

const idOf = (name: string): string => `${name}-0a1b2c3d`;
const policy = { ...DEFAULT_POLICY, limits: { ...DEFAULT_POLICY.limits, costUsd: 3 } };
const entryFile = (name: string): string =>
  join(root, 'loops', idOf('first'), 'family', `${idOf(name)}.json`);

const created = (name: string): LoopEvent => ({ type: 'loop.created', name, policy, at: 1000 });

/** Writes a loop with a limit of $3, of which it has used nothing. */
function write(name: string, place?: FamilyPlace, events: readonly LoopEvent[] = [created(name)]): void {
  const folder = new LoopFolder({ id: idOf(name), name, workspace: '/nowhere' });
  mkdirSync(folder.path, { recursive: true });
  const agent = { kind: 'custom', argv: ['true'] };
  const rest = { workspace: '/nowhere', created: 'now', agent, prompt: { text: 'x' }, parent: null };
  const below = place === undefined ? {} : { family: place };
  writeSpec(folder.spec, { version: 1, id: folder.id, name, ...rest, ...below }, {});
  const journal = openJournal(folder.journal, { knownMark: null, begin() {}, take() {} });
  for (const [at, event] of events.entries()) journal.append(event, at);
  journal.close();
}

/** A loop as its owner knows it, which has used so much. */
function spent(name: string, usd: number): LoopState {
  return { ...INITIAL, created: true, name, policy, spent: { ...INITIAL.spent, usd, source: 'reported' } };
}

/** A first loop and its child, which has an entry. */
function family(): FamilyPlace {
  write('first');
  return childOfFirst();
}

function childOfFirst(): FamilyPlace {
  const place = placeBelow({ run: `${idOf('first')}.1.1`, folder: join(root, 'loops', idOf('first')) });
  write('kid', place);
  openEntry(place, idOf('kid'), policy);
  return place;
}

function access(name: string, place?: FamilyPlace): LedgerAccess {
  return ledgerAccess({ id: idOf(name), ...(place === undefined ? {} : { family: place }) });
}

/** A loop whose journal alone says what it has spent. */
function endedKid(name: string, place: FamilyPlace | undefined, usd: number): void {
  const runs = [exits(0, { output: { cost: { usd, source: 'reported' } } })];
  write(name, place, play({ limits: { iterations: 1 }, checkpoint: false }, { runs }).journal);
}

/** Puts something else in the place of a file or folder. */
function instead(path: string, make: () => void): void {
  rmSync(path, { recursive: true });
  make();
}

it('begins with the first child, whose entry and those above it are made then', () => {
  write('first');
  const alone = ledgerAccess({ id: idOf('first') });
  expect(alone.settle(spent('first', 1))).toBeNull();
  const place = childOfFirst();
  expect(place).toEqual({ root: idOf('first'), payer: idOf('first') });
  expect(upperEntries(place)).toMatchObject([{ name: 'first', usd: 0, limits: { usd: 3 } }]);
  expect(alone.settle(spent('first', 1))).toEqual({ below: { loops: 0, usd: 0, tokens: 0 }, above: [] });
  expect(JSON.parse(readFileSync(entryFile('first'), 'utf8'))).toMatchObject({ usd: 1 });
});

it('has the sums of all loops in every order of writing, and no sum twice', () => {
  const place = family();
  const [first, kid] = [
    ledgerAccess({ id: idOf('first') }),
    ledgerAccess({ id: idOf('kid'), family: place }),
  ];
  first.settle(spent('first', 1));
  for (let time = 0; time < 3; time++) kid.settle(spent('kid', 0.5));
  expect(first.settle(spent('first', 1))?.below).toEqual({ loops: 1, usd: 0.5, tokens: 0 });
  expect(kid.settle(spent('kid', 0.5))?.above).toMatchObject([{ name: 'first', others: { usd: 1 } }]);
});

describe('an entry that cannot be read', () => {
  const damages: readonly (readonly [string, (file: string) => void])[] = [
    ['missing', (file) => rmSync(file)],
    ['cut off', (file) => writeFileSync(file, '{"usd":')],
    ['empty', (file) => writeFileSync(file, '')],
    ['negative', (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('"usd":0', '"usd":-100'))],
    ['of another shape', (file) => writeFileSync(file, '{}')],
    ['too long', (file) => writeFileSync(file, ' '.repeat(9 * 2 ** 20))],
    ['a folder', (file) => instead(file, () => mkdirSync(file))],
    ['a FIFO', (file) => instead(file, () => execFileSync('mkfifo', [file]))],
    ['a link to another entry', (file) => instead(file, () => symlinkSync(entryFile('kid'), file))],
    ['a link to nothing', (file) => instead(file, () => symlinkSync('/nowhere/at-all', file))],
  ];

  it.each(damages)('is made from the journal of its loop if it is %s', (_, damage) => {
    const place = family();
    damage(entryFile('first'));
    expect(access('kid', place).settle(spent('kid', 0.5))?.above).toMatchObject([
      { name: 'first', limits: { usd: 3 }, others: { usd: 0 } },
    ]);
  });

  it.each(damages)(
    'ends the loops below before their next run if it is %s and its loop was removed',
    (_, damage) => {
      const place = family();
      // This process has not read the entry yet.
      const below = { root: place.root, payer: idOf('kid') };
      write('grandkid', below);
      damage(entryFile('kid'));
      rmSync(join(root, 'loops', idOf('kid')), { recursive: true });
      const settle = (): unknown => access('grandkid', below).settle(spent('grandkid', 0.5));
      expect(settle).toThrow(/cannot count the budget of the family: .*kid/);
      expect(() => upperEntries(below)).toThrow('cannot count the budget of the family');
      // It can be shown all the same.
      expect(familyNow({ id: idOf('grandkid'), family: below }, spent('grandkid', 0.5)).above).toEqual([]);
    },
  );

  it('counts as it was, for a process that has read it before', () => {
    const place = family();
    const first = access('first');
    access('kid', place).settle(spent('kid', 0.5));
    first.settle(spent('first', 1));
    rmSync(join(root, 'loops', idOf('kid')), { recursive: true });
    for (const damage of [() => writeFileSync(entryFile('kid'), '{"usd":'), () => rmSync(entryFile('kid'))]) {
      damage();
      expect(first.settle(spent('first', 1))?.below).toEqual({ loops: 1, usd: 0.5, tokens: 0 });
    }
  });

  it('does not keep a new limit from holding', () => {
    const place = family();
    writeFileSync(entryFile('first'), '{"usd":');
    setLimits({ id: idOf('first') }, { costUsd: 1 });
    expect(access('kid', place).settle(spent('kid', 0.5))?.above).toMatchObject([{ limits: { usd: 1 } }]);
    setLimits({ id: idOf('first') }, { costUsd: 7 });
    expect(access('kid', place).settle(spent('kid', 0.5))?.above).toMatchObject([{ limits: { usd: 7 } }]);
  });
});

describe('a ledger', () => {
  const ledger = (): string => dirname(entryFile('first'));

  it('is read again after every change, also after many at once', () => {
    const place = family();
    const [first, kid] = [access('first'), access('kid', place)];
    for (let n = 1; n <= 500; n++) {
      kid.settle(spent('kid', n / 4));
      expect(first.settle(spent('first', n))?.below.usd).toBe(n / 4);
      expect(kid.settle(spent('kid', n / 4))?.above[0]?.others.usd).toBe(n);
    }
  });

  it('that was removed is made again, with the loops that have ended', () => {
    const place = family();
    endedKid('done', place, 0.75);
    endedKid('stranger', undefined, 5);
    rmSync(ledger(), { recursive: true });
    const count = access('kid', place).settle(spent('kid', 0.5));
    expect(count?.above).toMatchObject([{ name: 'first', limits: { usd: 3 }, others: { usd: 0.75 } }]);
    expect(access('first').settle(spent('first', 0))?.below).toEqual({ loops: 2, usd: 1.25, tokens: 0 });
  });

  it.each<readonly [string, () => void]>([
    ['a file', () => writeFileSync(ledger(), '')],
    ['a link to another folder', () => symlinkSync(root, ledger())],
    ['a link to nothing', () => symlinkSync('/nowhere/at-all', ledger())],
    ['a FIFO', () => execFileSync('mkfifo', [ledger()])],
  ])('that is %s does not count as empty', (_, make) => {
    const place = family();
    const kid = access('kid', place);
    kid.settle(spent('kid', 0.5));
    instead(ledger(), make);
    expect(() => kid.settle(spent('kid', 0.5))).toThrow(ledger());
    expect(() => upperEntries(place)).toThrow(ledger());
  });

  it('that may not be listed does not count as empty', { skip: process.getuid?.() === 0 }, () => {
    const place = family();
    chmodSync(ledger(), 0o300);
    expect(() => access('kid', place).settle(spent('kid', 0.5))).toThrow(ledger());
    chmodSync(ledger(), 0o700);
  });

  it('does not count loops of another family', () => {
    const place = family();
    const strange = readFileSync(entryFile('kid'), 'utf8').replace('"usd":0', '"usd":50');
    writeFileSync(entryFile('stranger'), strange.replaceAll(idOf('first'), idOf('other')));
    expect(access('kid', place).settle(spent('kid', 0.5))?.above).toMatchObject([{ others: { usd: 0 } }]);
    expect(access('first').settle(spent('first', 0))?.below.usd).toBe(0.5);
  });

  it('does not go round in circles if two entries name each other', () => {
    const place = family();
    const forged = JSON.stringify({
      ...JSON.parse(readFileSync(entryFile('first'), 'utf8')),
      payer: idOf('kid'),
    });
    writeFileSync(entryFile('first'), forged);
    expect(access('kid', place).settle(spent('kid', 0.5))?.above).toHaveLength(1);
  });

  it('that is gone with the first loop starts no more loops, and ends those below a limit', () => {
    const place = family();
    const kid = access('kid', place);
    const state = spent('kid', 1);
    const count = kid.settle(state);
    rmSync(join(root, 'loops', idOf('first')), { recursive: true });
    expect(() => placeBelow({ run: `${idOf('kid')}.1.1`, folder: join(root, 'loops', idOf('kid')) })).toThrow(
      'the first loop of this family was removed',
    );
    expect(() => kid.settle({ ...state, family: count ?? state.family })).toThrow(
      'the first loop of this family was removed, so its budget cannot be counted',
    );
    // Without a limit there is nothing to count.
    expect(kid.settle(state)).toBeNull();
  });
});
