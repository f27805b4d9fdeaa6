import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openJournal } from '../journal/file.ts';
import { DEFAULT_POLICY } from '../loop/default-policy.ts';
import { INITIAL } from '../loop/initial.ts';
import type { LoopState } from '../loop/state.ts';
import { ledgerAccess, openEntry, placeBelow, upperEntries } from './family.ts';
import { writeSpec, type FamilyPlace } from './spec.ts';
import { STATE } from './state-folder.ts';
import { LoopFolder } from './store.ts';

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

/** Writes a loop with a limit of $3, of which it has used nothing. */
function write(name: string, place?: FamilyPlace): void {
  const folder = new LoopFolder({ id: idOf(name), name, workspace: '/nowhere' });
  mkdirSync(folder.path, { recursive: true });
  const agent = { kind: 'custom', argv: ['true'] };
  const rest = { workspace: '/nowhere', created: 'now', agent, prompt: { text: 'x' }, parent: null };
  const below = place === undefined ? {} : { family: place };
  writeSpec(folder.spec, { version: 1, id: folder.id, name, ...rest, ...below }, {});
  const journal = openJournal(folder.journal, { knownMark: null, begin() {}, take() {} });
  journal.append({ type: 'loop.created', name, policy, at: 1000 }, 0);
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

it('makes an entry that is missing or damaged from the journal of its loop', () => {
  const place = family();
  const kid = ledgerAccess({ id: idOf('kid'), family: place });
  for (const damage of [
    () => rmSync(entryFile('first')),
    () => writeFileSync(entryFile('first'), '{"usd":'),
  ]) {
    damage();
    expect(kid.settle(spent('kid', 0.5))?.above).toMatchObject([{ name: 'first', limits: { usd: 3 } }]);
  }
});

it('is made again by the children that still run if it was removed', () => {
  const place = family();
  const kid = ledgerAccess({ id: idOf('kid'), family: place });
  rmSync(join(root, 'loops', idOf('first'), 'family'), { recursive: true });
  expect(kid.settle(spent('kid', 0.5))?.above).toMatchObject([{ name: 'first', limits: { usd: 3 } }]);
  expect(ledgerAccess({ id: idOf('first') }).settle(spent('first', 0))?.below.usd).toBe(0.5);
});

it('does not go round in circles if two entries name each other', () => {
  const place = family();
  const forged = JSON.stringify({
    ...JSON.parse(readFileSync(entryFile('first'), 'utf8')),
    payer: idOf('kid'),
  });
  writeFileSync(entryFile('first'), forged);
  const kid = ledgerAccess({ id: idOf('kid'), family: place });
  expect(kid.settle(spent('kid', 0.5))?.above).toHaveLength(1);
});

it('gets no more loops without the state of the first one', () => {
  const place = family();
  rmSync(join(root, 'loops', idOf('first')), { recursive: true });
  expect(ledgerAccess({ id: idOf('kid'), family: place }).settle(spent('kid', 1))).toBeNull();
  expect(() => placeBelow({ run: `${idOf('kid')}.1.1`, folder: join(root, 'loops', idOf('kid')) })).toThrow(
    'the first loop of this family was removed',
  );
});
