import { describe, expect, it } from 'vitest';
import type { Surroundings } from '../views/look-around.ts';
import { findSchemaProblems } from '../config/schema.ts';
import type { Settings } from '../config/config.ts';
import * as answers from './init-answers.ts';
import { askForSettings, type Question } from './init-questions.ts';

const NOTHING: Surroundings = { agents: [], checks: [], schema: 'schema.json', has: () => true };
const AGENT = 'Agent command (e.g., claude, codex, amp, or other LLM CLI): ';
const GUARDRAIL = 'Add guardrail command (leave blank to finish): ';

/** The talk with somebody who gives these answers; null takes what is suggested. */
async function talk(given: readonly (string | null)[], found: Partial<Surroundings> = {}): Promise<Talk> {
  const asked: Question[] = [];
  const told: string[] = [];
  const left = [...given];
  const settings = await askForSettings(
    {
      answers(question) {
        asked.push(question);
        const next = left.shift();
        if (next === undefined) throw new Error(`nobody answers ${question.text}`);
        return Promise.resolve(next ?? question.suggestion ?? '');
      },
      hears: (text) => told.push(text),
      isCorrected: (problem) => told.push(problem),
    },
    { ...NOTHING, ...found },
  );
  expect(left).toEqual([]);
  return { asked: asked.map(({ text }) => text), told, settings };
}

interface Talk {
  readonly asked: readonly string[];
  readonly told: readonly string[];
  readonly settings: Settings;
}

describe('the questions of init', () => {
  it('S2.17 S2.18 S2.19 S2.20 S2.21 S2.22 have these texts and this order', async () => {
    const { asked, told, settings } = await talk(
      ['claude', '', '', '', 'make test', '', 'Fix it.', '', 'y', '', ' commit , push '],
      NOTHING,
    );
    expect(asked).toEqual([
      AGENT,
      'Agent flags (comma-separated, optional): ',
      'Maximum iterations [10]: ',
      'Completion response [DONE]: ',
      GUARDRAIL,
      '  Fail action (APPEND|PREPEND|REPLACE): ',
      '  Hint (optional, guidance for agent on failure): ',
      GUARDRAIL,
      'Configure SCM? (y/N): ',
      '  SCM command (e.g., git): ',
      '  SCM tasks (comma-separated, e.g., commit,push): ',
    ]);
    expect(told).toEqual([]);
    expect(settings).toMatchObject({
      checks: [{ command: 'make test', failAction: 'APPEND', hint: 'Fix it.' }],
      scm: { command: 'git', tasks: ['commit', 'push'] },
    });
  });

  it('S2.23 the file has its keys in the order of the document, and passes our own schema', async () => {
    const { settings } = await talk(['amp', '', '', '', '', 'y', '', '']);
    expect(Object.keys(settings)).toEqual([
      '$schema',
      'maxIterations',
      'completionResponse',
      'outputTruncateChars',
      'streamAgentOutput',
      'includeIterationCountInPrompt',
      'agent',
      'checks',
      'scm',
    ]);
    expect(findSchemaProblems(settings)).toEqual([]);
  });

  it('S2.22 no question on tasks and no key in the file without a yes', async () => {
    const { asked, settings } = await talk(['amp', '', '', '', '', 'N']);
    expect(asked.at(-1)).toBe('Configure SCM? (y/N): ');
    expect(settings).not.toHaveProperty('scm');
    expect(settings.checks).toEqual([]);
  });

  it('says that an agent is not installed, and takes it all the same', async () => {
    const { told, settings } = await talk(['amp', '', '', '', '', ''], { has: () => false });
    expect(told).toEqual([expect.stringContaining('amp is not installed here')]);
    expect(settings.agent).toEqual({ command: 'amp', flags: [] });
  });

  it('offers each check once, and none that was typed before', async () => {
    const checks = ['a', 'b', 'c', 'd'].map((command) => ({ command, from: 'Makefile' }));
    const taken = ['', ''];
    const { settings } = await talk(
      [null, '', '', '', null, ...taken, 'c', ...taken, null, ...taken, null, ''],
      { agents: ['codex', 'amp'], checks },
    );
    expect(settings.agent?.command).toBe('codex');
    // `b` made room for what was typed, and `c` was there already.
    expect(settings.checks?.map(({ command }) => command)).toEqual(['a', 'c', 'd']);
  });
});

describe('the answers', () => {
  it('S2.17 a command is not blank', () => {
    expect(answers.agentCommand(' \t')).toEqual({ ok: false, problem: 'Agent command is required' });
    expect(answers.agentCommand(' claude ')).toEqual({ ok: true, value: ['claude'] });
    expect(answers.agentCommand('claude --model opus')).toEqual({
      ok: true,
      value: ['claude', '--model', 'opus'],
    });
    expect(answers.agentCommand('"x').ok).toBe(false);
    expect(answers.tasks('commit, push "x', 'commit').ok).toBe(false);
  });

  it('S2.18 lists are cut at commas (T041)', () => {
    expect(answers.list('  --model  ,  opus  , ')).toEqual(['--model', 'opus']);
    expect(answers.list(' ')).toEqual([]);
  });

  it.each([
    ['', 10],
    [' 7 ', 7],
    ['+3', 3],
    ['abc', 'Please enter a valid number'],
    ['1.5', 'Please enter a valid number'],
    ['1e3', 'Please enter a valid number'],
    ['-', 'Please enter a valid number'],
    ['99999999999999999999', 'Please enter a valid number'],
    ['0', 'Must be greater than 0'],
    ['-1', 'Must be greater than 0'],
  ])('S2.19 S2.116 iterations: %j is %j', (answer, expected) => {
    const understood = answers.iterations(answer);
    expect(understood.ok ? understood.value : understood.problem).toBe(expected);
  });

  it('S2.20 a response is any text that a loop can look for', () => {
    expect(answers.completionResponse('  ')).toEqual({ ok: true, value: 'DONE' });
    expect(answers.completionResponse(' all done ')).toEqual({ ok: true, value: 'all done' });
    expect(answers.completionResponse('x'.repeat(1001))).toMatchObject({ ok: false });
  });

  it.each(['append', 'Prepend', ' REPLACE '])('S2.21 %j is an action', (answer) => {
    expect(answers.failAction(answer)).toEqual({ ok: true, value: answer.trim().toUpperCase() });
  });

  it('S2.21 S2.116 anything else is not', () => {
    const problem = '  Invalid action. Must be APPEND, PREPEND, or REPLACE';
    expect(answers.failAction('maybe')).toEqual({ ok: false, problem });
  });

  it('yes and no in any case, and nothing is no', () => {
    expect(['y', 'Yes', 'n', 'NO', ''].map((answer) => answers.yesOrNo(answer))).toEqual(
      [true, true, false, false, false].map((value) => ({ ok: true, value })),
    );
    expect(answers.yesOrNo('maybe')).toMatchObject({ ok: false });
  });
});
