import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { AgentEvent } from '../agents/agent.ts';
import { presets } from '../loop/presets.ts';
import { readSpec } from '../home/spec.ts';
import { createLoop, type LoopRequest } from './create-loop.ts';
import type { OwnedLoop } from './owner.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-owned-')));
  vi.stubEnv('XDG_STATE_HOME', join(folder, 'state'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const own = async (asked: LoopRequest): Promise<OwnedLoop> => (await createLoop(asked)).own();

it('S2.78 passes on agent events with their time, tool calls with their id, and the result with cost and tokens', async () => {
  const tokens = { input_tokens: 10, output_tokens: 2 };
  const usage = { ...tokens, cache_read_input_tokens: 3, cache_creation_input_tokens: 4 };
  const tool = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'make' } };
  const lines = [
    { type: 'assistant', message: { id: 'm', content: [tool] } },
    { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 't1', content: 'ok' }] } },
    { type: 'result', subtype: 'success', result: 'DONE', total_cost_usd: 0.5, usage, session_id: 's' },
  ];
  const agent = join(folder, 'claude');
  writeFileSync(agent, `#!/bin/sh\n${lines.map((line) => `echo '${JSON.stringify(line)}'`).join('\n')}\n`);
  chmodSync(agent, 0o755);
  const before = Date.now();
  const loop = await own({
    workspace: folder,
    name: 'it',
    policy: presets['ralph-cli'].policy,
    agent: { kind: 'claude', argv: [agent] },
    prompt: { text: 'x' },
    env: { PATH: process.env['PATH'] ?? '' },
    fresh: false,
    parent: null,
  });
  const seen: (AgentEvent & { readonly at: number })[] = [];
  const stop = await loop.drive({ agent: (event, at) => seen.push({ ...event, at }) });
  expect(stop).toMatchObject({ why: 'ended', outcome: { type: 'done' } });
  expect(seen.map(({ type }) => type)).toEqual(['tool.start', 'tool.end', 'result']);
  expect(seen.every(({ at }) => at >= before && at <= Date.now())).toBe(true);
  expect(seen).toMatchObject([
    { id: 't1' },
    { id: 't1' },
    {
      usage: { costUsd: 0.5, parts: [{ tokens: { input: 10, output: 2, cacheRead: 3, cacheWrite: 4 } }] },
    },
  ]);
});

const request = (more: Partial<LoopRequest> = {}): LoopRequest => ({
  workspace: folder,
  name: 'it',
  policy: { ...presets.default.policy, limits: { ...presets.default.policy.limits, iterations: 1 } },
  agent: { kind: 'custom', argv: ['/bin/sh', '-c', 'echo hello'] },
  prompt: { text: 'x' },
  env: { PATH: process.env['PATH'] ?? '' },
  fresh: false,
  parent: null,
  ...more,
});

it('calls every observer, and gives those that come before `drive` the events until then', async () => {
  const loop = await own(request());
  const types: string[][] = [[], []];
  loop.observe({ appended: ({ type }) => types[0]?.push(type) });
  await loop.drive({ appended: ({ type }, _, { runs }) => types[1]?.push(`${type} ${runs}`) });
  expect(types[0]?.[0]).toBe('loop.created');
  expect(types[0]?.at(-1)).toBe('loop.ended');
  expect(types[1]?.map((entry) => entry.split(' ')[0])).toEqual(types[0]);
  expect(types[1]?.at(-1)).toBe('loop.ended 1');
});

it('refuses to leave a loop whose agent is a function', async () => {
  const perform = async () => ({ events: [], stderr: '', code: 0 });
  const loop = await own(request({ agent: { kind: 'scripted', argv: [] }, perform }));
  expect(() => loop.leave()).toThrow('cannot leave a loop whose agent is a function');
  loop.close();
});

it('writes into the spec where a loop belongs, and nothing for the foreground', async () => {
  for (const [name, more] of [
    ['a', {}],
    ['b', { place: 'background' }],
  ] as const) {
    // oxlint-disable-next-line no-await-in-loop -- one loop after the other
    const loop = await own(request({ name, ...more }));
    expect(readSpec(loop.folder.spec).place).toBe(name === 'a' ? undefined : 'background');
    loop.close();
  }
});
