import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { reserve } from '../home/registry.ts';
import { processes } from '../process/process.ts';
import type { LoopRef } from './loops.ts';
import { Rights, type Caller, type Verb } from './rights.ts';

let state: string;
beforeAll(() => {
  state = mkdtempSync(join(tmpdir(), 'ralph-rights-'));
  vi.stubEnv('RALPH_STATE', state);
  for (const [name, parent] of [
    ['own', null],
    ['below', 'own-00000000.1'],
    ['deep', 'below-00000000.2'],
    ['other', null],
  ] as const) {
    const folder = join(state, 'loops', idOf(name));
    mkdirSync(folder, { recursive: true });
    const spec = { ...refTo(name), version: 1, created: new Date(0).toISOString() };
    const more = { agent: { kind: 'custom', argv: ['x'] }, prompt: { text: 'x' } };
    const above = parent === null ? null : { run: parent, folder: join(state, 'loops', parent.slice(0, -2)) };
    writeFileSync(join(folder, 'spec.json'), JSON.stringify({ ...spec, ...more, parent: above }));
    reserve(refTo(name));
  }
});
afterAll(() => rmSync(state, { recursive: true }));
beforeEach(() => void vi.stubEnv('RALPH_STATE', state));
afterEach(() => void vi.unstubAllEnvs());

const idOf = (name: string): string => `${name}-00000000`;
const refTo = (name: string): LoopRef => ({ id: idOf(name), name, workspace: '/w' });
const RUNS = [{ run: 'own-00000000.1', loop: idOf('own'), hasShim: true }];
const allowing = (...changes: readonly string[]): Extract<Caller, { is: 'assistant' }>['allow'] => {
  return (change) =>
    changes.includes(change) ? Promise.resolve() : Promise.reject(new Error(`no ${change}`));
};
const CALLERS = {
  person: { is: 'person' },
  run: { is: 'run', runs: RUNS },
  sandbox: { is: 'sandbox', own: refTo('own') },
  assistant: { is: 'assistant', runs: [], allow: allowing('tell', 'stop', 'pause', 'resume', 'answer') },
  'assistant in a run': { is: 'assistant', runs: RUNS, allow: allowing('tell', 'stop') },
  'assistant that nothing is allowed': { is: 'assistant', runs: [], allow: allowing() },
} as const satisfies Record<string, Caller>;

/** The loops that each caller may do it with: o its own, b below, d further below, x another one. */
const EXPECTED: Readonly<Record<Verb, Readonly<Record<keyof typeof CALLERS, string>>>> = {
  look: all('obdx', 'obdx', 'obd', 'obdx', 'obdx', 'obdx'),
  wait: all('obdx', 'bdx', 'bd', 'obdx', 'bdx', 'obdx'),
  diff: all('obdx', 'obdx', '', 'obdx', 'obdx', 'obdx'),
  tell: all('obdx', 'obdx', 'o', 'obdx', 'bd', ''),
  stop: all('obdx', 'bd', 'bd', 'obdx', 'bd', ''),
  pause: all('obdx', 'bd', '', 'obdx', '', ''),
  resume: all('obdx', 'bd', '', 'obdx', '', ''),
  answer: all('obdx', 'bd', '', 'obdx', '', ''),
  set: all('obdx', 'bd', '', '', '', ''),
  kill: all('obdx', 'bd', '', '', '', ''),
  rewind: all('obdx', 'bd', '', '', '', ''),
  remove: all('obdx', 'bd', '', '', '', ''),
  merge: all('obdx', 'bd', '', '', '', ''),
  replace: all('obdx', 'bd', 'bd', 'obdx', 'bd', 'obdx'),
};

function all(...reach: readonly string[]): Record<keyof typeof CALLERS, string> {
  const [person = '', run = '', sandbox = '', assistant = '', inside = '', forbidden = ''] = reach;
  return {
    person,
    run,
    sandbox,
    assistant,
    'assistant in a run': inside,
    'assistant that nothing is allowed': forbidden,
  };
}

function keysOf<Key extends string>(values: Readonly<Record<Key, unknown>>): readonly Key[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they are
  return Object.keys(values) as Key[];
}

const LOOPS = { o: 'own', b: 'below', d: 'deep', x: 'other' } as const;

describe.each(keysOf(CALLERS))('the rights of a caller: %s', (caller) => {
  it.each(keysOf(EXPECTED))('%s', async (verb) => {
    const may = async (name: string): Promise<boolean> =>
      new Rights(() => CALLERS[caller]).require(verb, refTo(name), `ralph ${verb} ${name}`).then(
        () => true,
        () => false,
      );
    const found = await Promise.all(
      Object.entries(LOOPS).map(async ([letter, name]) => ((await may(name)) ? letter : '')),
    );
    expect(found.join('')).toBe(EXPECTED[verb][caller]);
  });
});

it('the id of a loop of one’s own does not lead to another one', async () => {
  const forged = { ...refTo('other'), id: idOf('below') };
  const moved = { ...refTo('below'), workspace: '/elsewhere' };
  for (const ref of [forged, moved])
    // oxlint-disable-next-line no-await-in-loop -- two calls
    await expect(new Rights(() => CALLERS.sandbox).require('stop', ref, 'ralph stop')).rejects.toThrow(
      'a sandbox has only its own loop',
    );
});

it('what a loop may do is changed by a person alone', () => {
  const refused = Object.entries(CALLERS).filter(([, caller]) => {
    try {
      new Rights(() => caller).requireTerms('ralph init');
      return false;
    } catch {
      return true;
    }
  });
  expect(refused.map(([name]) => name)).toEqual([
    'run',
    'sandbox',
    'assistant',
    'assistant in a run',
    'assistant that nothing is allowed',
  ]);
});

it('the process table is not read for what a run may do with every loop', async () => {
  const ancestors = vi.spyOn(processes, 'ancestors');
  const rights = new Rights();
  await rights.require('look', refTo('own'), 'ralph status own');
  await rights.require('tell', refTo('own'), 'ralph tell own');
  expect(ancestors).not.toHaveBeenCalled();
  await rights.require('kill', refTo('own'), 'ralph kill own');
  expect(ancestors).toHaveBeenCalledOnce();
});
