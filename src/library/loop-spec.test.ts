import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import { isRecord } from '../loop/shape.ts';
import { createLoop, runLoop } from './library.ts';

const DONE = { text: '<promise>DONE</promise>' };

describe('an invalid spec', () => {
  const agent = () => DONE;
  it.each([
    ['no prompt', { agent }, 'prompt or promptFile is required and must not be empty'],
    ['two prompts', { agent, prompt: 'a', promptFile: 'b' }, 'prompt and promptFile exclude each other'],
    [
      'a missing prompt file',
      { agent, promptFile: 'gone.md' },
      /cannot read promptFile .*gone.md: no such file or folder/,
    ],
    ['a typo', { agent, prompt: 'a', maxIteration: 3 }, 'did you mean maxIterations?'],
    [
      'both names of a limit',
      { prompt: 'a', agent, maxIterations: 3, maximumIterations: 3 },
      'maximumIterations and maxIterations are two names of one option; keep one of them',
    ],
    [
      'both names of the checks',
      { prompt: 'a', agent, checks: [], guardrails: [] },
      'guardrails and checks are two names of one option',
    ],
    [
      'both names of a fail action',
      { prompt: 'a', agent, checks: [{ command: 'a', action: 'APPEND', failAction: 'APPEND' }] },
      'checks[0].action and checks[0].failAction are two names of one option',
    ],
    [
      'an invalid fail action',
      { prompt: 'a', agent, checks: ['a', { command: 'a', failAction: 'x' }] },
      'checks[1].failAction must be',
    ],
    [
      'an invalid value under an alias',
      { prompt: 'a', agent, guardrails: [{ command: 'a', action: 'x' }], maximumIterations: -1 },
      /^(?=.*maximumIterations must be)(?=.*guardrails\[0\]\.action must be)/,
    ],
    ['no agent', { prompt: 'a' }, 'agent must be the name of a known agent'],
    ['an unknown agent', { prompt: 'a', agent: 'claud' }, 'did you mean claude?'],
    ['a missing command', { prompt: 'a', agent: { command: ['./missing'] } }, 'agent command not found'],
    ['an invalid limit', { prompt: 'a', agent, maxIterations: -1 }, 'maxIterations must be'],
    ['an invalid time', { prompt: 'a', agent, maxTime: 'soon' }, 'maxTime must be a time'],
    ['an empty check', { prompt: 'a', agent, checks: [''] }, 'checks[0].command must be'],
    ['an unknown preset', { prompt: 'a', agent, preset: 'mine' }, 'preset must be one of'],
    [
      'a missing folder',
      { prompt: 'a', agent, workspace: '/nowhere' },
      'workspace must be an existing folder',
    ],
    ['a bad name', { prompt: 'a', agent, name: '../x' }, 'bad name'],
    [
      'tasks without a program',
      { prompt: 'a', agent, scm: { tasks: ['commit'] } },
      'scm.command is required with scm.tasks',
    ],
    ['an invalid policy', { prompt: 'a', agent, policy: { children: { waitMs: 'x' } } }, 'childWait must be'],
  ])('is rejected: %s', async (_, spec, message) => {
    const workspace = openLibraryFolder();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- possible in JavaScript
    const wrong = createLoop({ workspace, ...spec } as never);
    await expect(wrong).rejects.toThrow(message);
    await expect(wrong).rejects.toMatchObject({ name: 'UserError' });
  });
});

it('accepts every setting of the loop, and none of the console', async () => {
  const text = readFileSync(new URL('../../settings.schema.json', import.meta.url), 'utf8');
  const schema: unknown = JSON.parse(text);
  const properties = isRecord(schema) && isRecord(schema['properties']) ? schema['properties'] : {};
  const others = new Set(
    '$schema streamAgentOutput emoji timestamps outputLines outputChars notify on mcp'.split(' '),
  );
  expect(Object.keys(properties)).toContain('maxIterations');
  for (const key of Object.keys(properties)) {
    const spec = { prompt: 'a', agent: () => DONE, [key]: undefined, workspace: '/nowhere' };
    const wrong = others.has(key) ? `unknown option ${key}` : 'workspace must be';
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await expect(createLoop(spec)).rejects.toThrow(wrong);
  }
});

it('accepts the names of document 001 for limits and checks', async () => {
  const prompts: string[] = [];
  const result = await runLoop({
    prompt: 'a task',
    workspace: openLibraryFolder(),
    agent: ({ prompt }) => {
      prompts.push(prompt);
      return DONE;
    },
    maximumIterations: 2,
    guardrails: [{ command: 'exit 3', action: 'REPLACE', hint: 'Try again.' }],
  });
  expect(result).toMatchObject({ totalIterations: 2, stopReason: 'max_iterations' });
  expect(prompts[1]).toContain('Try again.');
  expect(prompts[1]).not.toContain('a task');
});

it('rejects wrong types at run time, and leaves the name free', async () => {
  const workspace = openLibraryFolder();
  const spec = {
    prompt: 'x',
    agent: async () => ({ text: '<promise>DONE</promise>' }),
    workspace,
    name: 'q',
  };
  for (const [wrong, message] of [
    [{ signal: {} }, 'signal must be an AbortSignal'],
    [{ checks: 'true' }, 'checks must be a list'],
    [{ guardrails: 'true' }, 'guardrails must be a list'],
    [{ name: 5 }, 'name must be a string'],
    [{ env: { A: 1 } }, 'env must be an object of strings'],
    [{ agent: { command: 'sh -c true' } }, 'agent.command must be a list of strings'],
  ] as const) {
    // oxlint-disable-next-line no-await-in-loop, typescript/no-unsafe-type-assertion -- possible in JavaScript
    await expect(runLoop({ ...spec, ...wrong } as never)).rejects.toThrow(message);
  }
  expect((await runLoop(spec)).success).toBe(true);
});
