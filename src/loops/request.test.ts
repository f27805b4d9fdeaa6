import { describe, expect, it } from 'vitest';
import { answer, requestIn, requestOf } from './request.ts';
import { localLoops } from './local-loops.ts';
import { UserError } from '../user-error.ts';

const loop = { id: 'it-0a1b2c3d', name: 'it', workspace: '/w' };
const tree = 'a'.repeat(40);
const start = { workspace: '/w', prompt: { text: 'x' }, settings: {}, command: [] };

describe('a request', () => {
  it.each([
    ['find', ['it', '/w']],
    ['strays', [null]],
    ['get', [loop]],
    ['facts', [loop, { since: 7 }]],
    ['runs', [loop]],
    ['output', [loop, '7.2', 'stdout', { from: 0 }]],
    ['output', [loop, '7.2', { check: 'npm-test' }, { from: 5, bytes: 10 }]],
    ['list', [{ workspace: null, status: 'done' }]],
    ['events', [loop, { from: null }]],
    ['events', [loop, { from: { events: 1, bytes: 9, after: 'rest' } }]],
    ['events', [loop, { from: 'snapshot', agent: true }]],
    ['changes', [{ workspace: null }, { 'it-0a1b2c3d': 'x' }]],
    ['send', [loop, { type: 'tell', text: 'x' }]],
    ['send', [loop, { type: 'stop', now: true, by: 'person' }]],
    ['stopTree', [loop, false]],
    ['start', [{ ...start, settings: { maxCost: 1, checks: [{ command: 'y' }] } }]],
    ['diff', [loop, '2..5']],
    ['patch', [loop, { before: tree, after: tree }, { from: 0 }]],
    ['move', ['/old', '/new']],
    ['wait', [loop]],
  ] as const)('of the verb %s comes back as it was made', (verb, args) => {
    const request = requestOf(verb, [...args, { signal: new AbortController().signal, wait: 5 }]);
    expect(requestIn(JSON.parse(JSON.stringify(request)))).toEqual({ verb, args, wait: 5 });
  });

  it('names the loop of a view, and sends nothing else of it', () => {
    expect(requestOf('get', [{ ...loop, summary: {}, state: {} }])).toEqual({ verb: 'get', args: [loop] });
  });

  it.each([
    null,
    [],
    {},
    { verb: 'toString', args: [] },
    { verb: '__proto__', args: [] },
    { verb: 'get', args: [] },
    { verb: 'get', args: [loop, loop] },
    { verb: 'get', args: [{ ...loop, name: '../x' }] },
    { verb: 'get', args: [{ ...loop, id: '../x' }] },
    { verb: 'get', args: [loop], more: 1 },
    { verb: 'get', args: [loop], wait: -1 },
    { verb: 'changes', args: [{ workspace: null }, { x: 1 }] },
    { verb: 'events', args: [loop, { from: 'start' }] },
    { verb: 'output', args: [loop, '../1', 'stdout', { from: 0 }] },
    { verb: 'output', args: [loop, '1.1', { check: '../x' }, { from: 0 }] },
    { verb: 'output', args: [loop, '1.1', 'journal', { from: 0 }] },
    { verb: 'list', args: [{}] },
    { verb: 'list', args: [{ workspace: 1 }] },
    { verb: 'events', args: [loop, { from: { events: -1, bytes: 9, after: 'rest' } }] },
    { verb: 'events', args: [loop, { from: { events: 1, bytes: 9, after: 'x' } }] },
    { verb: 'stopTree', args: [loop, 1] },
    { verb: 'patch', args: [loop, { before: 'HEAD', after: tree }, { from: 0 }] },
    { verb: 'send', args: [loop, { type: 'tell', text: ' ' }] },
    { verb: 'send', args: [loop, { type: 'abort', message: 'x' }] },
    { verb: 'send', args: [loop, { type: 'stop', now: true, by: 'deadline' }] },
    { verb: 'start', args: [{ ...start, settings: { setup: ['x'] } }] },
    { verb: 'start', args: [{ ...start, settings: { sandbox: false } }] },
    { verb: 'start', args: [{ ...start, prompt: { file: '/etc/passwd' } }] },
    { verb: 'start', args: [{ ...start, prompt: { text: 'x', spec: '/etc/passwd' } }] },
    { verb: 'start', args: [{ ...start, env: { PATH: '/x' } }] },
    { verb: 'start', args: [{ ...start, policy: {} }] },
    { verb: 'start', args: [{ ...start, files: 'ignored' }] },
    { verb: 'start', args: [{ ...start, child: false }] },
    { verb: 'start', args: [{ ...start, trust: 'all' }] },
  ])('is not read from %j', (value) => {
    expect(requestIn(value)).toBeNull();
  });

  it('that is refused is answered with the message and the exit code', async () => {
    const refusing = { ...localLoops(), get: () => Promise.reject(new UserError('no', 4)) };
    expect(await answer(refusing, { verb: 'get', args: [loop] }, AbortSignal.timeout(1000))).toEqual({
      ok: false,
      message: 'no',
      exitCode: 4,
    });
  });
});
