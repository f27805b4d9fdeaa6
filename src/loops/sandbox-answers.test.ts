import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openState, registerLoop, specFor } from '../../test/rig/loop-folder.ts';
import type { SandboxedParent } from '../owner/owner.ts';
import { watchFolder } from '../process/watch.ts';
import { answerRequests } from '../sandbox/requests.ts';
import { askedLoops } from './asked-loops.ts';
import { localLoops } from './local-loops.ts';
import { answer, requestIn } from './request.ts';
import { Rights } from './rights.ts';
import { eventsIn } from './events.ts';
import { refOf } from './find.ts';
import type { Loops, LoopRef } from './loops.ts';
import { sandboxAnswers } from './sandbox-answers.ts';

let loops: Loops;
/** Where a sandbox asks. */
let requests: string;
let own: LoopRef;
let child: LoopRef;
let other: LoopRef;
beforeEach(() => {
  const workspace = openState();
  const folder = registerLoop(workspace, 'own', [{ type: 'timer.fired', key: 'x', at: 1 }]);
  mkdirSync(folder.run('1.1'), { recursive: true });
  writeFileSync(join(folder.run('1.1'), 'stdout.log'), 'hello\n');
  const spec = specFor(folder);
  own = refOf({ spec });
  const parent = { run: `${own.id}.1`, folder: folder.path };
  child = refOf({ spec: specFor(registerLoop(workspace, 'child', [], { parent })) });
  other = refOf({ spec: specFor(registerLoop(workspace, 'other')) });
  requests = join(dirname(workspace), 'requests');
  mkdirSync(requests);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what these verbs need of it
  const answers = sandboxAnswers({ spec } as unknown as SandboxedParent);
  serve((request) => answers(request)?.carryOut() ?? null);
  loops = askedLoops(requests);
});

let stopServing = (): void => {};
/** Answers the requests from now on. */
function serve(answerTo: Parameters<typeof answerRequests>[1]): void {
  stopServing();
  stopServing = watchFolder(requests, () => void answerRequests(requests, answerTo));
}
afterEach(() => stopServing());

it('a sandbox reads its own loop and those below it through its owner, and no other', async () => {
  const names = (await loops.list({ workspace: null })).map(({ name }) => name);
  expect(names).toEqual(['own', 'child']);
  expect(await loops.strays(null)).toEqual({ gone: [], strangers: [] });
  expect(await loops.facts(own, {})).toMatchObject({ name: 'own', since: 0, changes: null });
  const page = await loops.events(own, { from: null });
  const { next, after } = page;
  expect({ types: eventsIn(page).map(({ type }) => type), after }).toEqual({
    types: ['loop.created', 'timer.fired'],
    after: 'rest',
  });
  const abort = AbortSignal.abort();
  expect((await loops.events(own, { from: next }, { wait: 60_000, signal: abort })).told).toEqual([]);
  expect((await loops.runs(own)).map(({ run }) => run)).toEqual(['1.1']);
  expect(await loops.output(own, '1.1', 'stdout', { from: 0 })).toMatchObject({ next: 6, after: 'end' });
  expect((await loops.events(child, { from: null })).told).toHaveLength(1);
  const refused = 'a sandbox has only its own loop';
  await expect(loops.get(other)).rejects.toThrow(refused);
  await expect(loops.facts(other, {})).rejects.toThrow(refused);
  await expect(loops.events(other, { from: null })).rejects.toThrow(refused);
  await expect(loops.runs(other)).rejects.toThrow(refused);
  await expect(loops.output(other, '1.1', 'stdout', { from: 0 })).rejects.toThrow(refused);
});

/** How each verb may be called. */
const CALLS: { readonly [Verb in keyof Loops]: (loop: LoopRef) => Parameters<Loops[Verb]> } = {
  find: ({ name }) => [name, '/'],
  list: () => [{ workspace: null }],
  strays: () => [null],
  changes: () => [{ workspace: null }, {}],
  get: (loop) => [loop],
  events: (loop) => [loop, { from: null }],
  runs: (loop) => [loop],
  output: (loop) => [loop, '1.1', 'stdout', { from: 0 }],
  start: () => [{ workspace: '/', prompt: { text: 'x' }, settings: { maxIterations: 1 }, command: [] }],
  resume: (loop) => [loop, { limits: {}, now: false, env: {}, detach: true }],
  send: (loop) => [loop, { type: 'tell', text: 'x' }],
  stopTree: (loop) => [loop, false],
  kill: (loop) => [loop],
  facts: (loop) => [loop, { since: 5, countsTests: true }],
  diff: (loop) => [loop, null],
  patch: (loop) => [loop, { before: 'a'.repeat(40), after: 'b'.repeat(40) }, { from: 0 }],
  rewind: (loop) => [loop, 'start'],
  remove: (loop) => [loop],
  move: () => ['/old', '/new'],
  merge: (loop) => [loop, false],
  removeWorktree: (loop) => [loop, false],
  wait: (loop) => [loop],
};
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are its keys
const VERBS = Object.keys(CALLS) as readonly (keyof Loops)[];
const PROBE: LoopRef = { id: 'x-12345678', name: 'x', workspace: '/' };
/** Calls a verb with the arguments that belong to it. */
function call(of: Loops, verb: keyof Loops, loop: LoopRef): Promise<unknown> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  const carryOut = of[verb] as (...args: readonly unknown[]) => Promise<unknown>;
  return carryOut(...CALLS[verb](loop), { wait: 5 });
}

describe.each(VERBS)('the verb %s', (verb) => {
  it('reaches the owner with all of its arguments, and its answer comes back', async () => {
    const carriedOut = { is: 'removed', of: verb };
    const given: unknown[] = [];
    const carryOut = (...args: readonly unknown[]): Promise<unknown> => {
      given.push(...args);
      return Promise.resolve(carriedOut);
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the verb that is asked for, and no other
    const recording = { [verb]: carryOut } as unknown as Loops;
    const { signal } = new AbortController();
    serve((value) => {
      const request = requestIn(value);
      return request === null ? null : answer(recording, request, signal);
    });
    expect(await call(loops, verb, own)).toEqual(carriedOut);
    // A wait for the end of a loop is repeated until it has come.
    expect(given).toEqual([...CALLS[verb](own), { signal, wait: verb === 'wait' ? 0 : 5 }]);
  });
});

describe.each(VERBS.filter((verb) => CALLS[verb](PROBE)[0] === PROBE))('the verb %s', (verb) => {
  it('does nothing with a loop that is not of the sandbox', async () => {
    const rights = new Rights(() => ({ is: 'sandbox', own }));
    await expect(call(localLoops({ rights }), verb, other)).rejects.toThrow(
      /a sandbox has only its own loop|does not work inside a sandbox|works only for own/,
    );
  });
});

it('a loop inside a run moves no other loops', async () => {
  const rights = new Rights(() => ({ is: 'sandbox', own }));
  await expect(localLoops({ rights }).move('/old', '/new')).rejects.toThrow('refused inside a run');
});
