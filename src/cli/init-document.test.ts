import { describe, expect, it } from 'vitest';
import type { Suggestions } from '../loops/suggestions.ts';
import { findSchemaProblems } from '../settings/schema.ts';
import type { Settings } from '../settings/settings.ts';
import * as answers from './init-answers.ts';
import { askForDocument } from './init-document.ts';
import type { Question } from './init-questions.ts';

const NOTHING: Suggestions = { agents: [], checks: [], schema: 'schema.json', has: () => true };
const AGENT = 'Agent command (e.g., claude, codex, amp, or other LLM CLI): ';
const GUARDRAIL = 'Add guardrail command (leave blank to finish): ';

/** Asks all questions and gives these answers; null accepts the suggestion. */
async function talk(given: readonly (string | null)[], found: Partial<Suggestions> = {}): Promise<Talk> {
  const asked: Question[] = [];
  const told: string[] = [];
  const left = [...given];
  const settings = await askForDocument(
    {
      ask(question) {
        asked.push(question);
        const next = left.shift();
        if (next === undefined) throw new Error(`no answer for ${question.text}`);
        return Promise.resolve(next ?? question.suggestion ?? '');
      },
      note: (text) => told.push(text),
      error: (problem) => told.push(problem),
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

describe('the questions of document 001', () => {
  it('S2.17 S2.18 S2.19 S2.20 S2.21 S2.22 have the texts and the order of the document', async () => {
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

  it('S2.23 lead to settings in the order of the document, which pass the schema', async () => {
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

  it('S2.22 skip the SCM questions and the scm key without a yes', async () => {
    const { asked, settings } = await talk(['amp', '', '', '', '', 'N']);
    expect(asked.at(-1)).toBe('Configure SCM? (y/N): ');
    expect(settings).not.toHaveProperty('scm');
    expect(settings.checks).toEqual([]);
  });

  it('warn about an agent that is not installed, and accept it', async () => {
    const { told, settings } = await talk(['amp', '', '', '', '', ''], { has: () => false });
    expect(told).toEqual([expect.stringContaining('amp is not installed')]);
    expect(settings.agent).toEqual({ command: 'amp', flags: [] });
  });

  it('suggest each check once, and none that was typed before', async () => {
    const checks = ['a', 'b', 'c', 'd'].map((command) => ({ command, from: 'Makefile' }));
    const taken = ['', ''];
    const { settings } = await talk(
      [null, '', '', '', null, ...taken, 'c', ...taken, null, ...taken, null, ''],
      { agents: ['codex', 'amp'].map((command) => ({ command, login: 'login unknown' })), checks },
    );
    expect(settings.agent?.command).toBe('codex');
    // `c` was typed over the suggestion `b`, and is not suggested again.
    expect(settings.checks?.map(({ command }) => command)).toEqual(['a', 'c', 'd']);
  });
});

describe('the answers', () => {
  it('S2.17 reject a blank command', () => {
    expect(answers.agentCommand(' \t')).toEqual({ ok: false, problem: 'Agent command is required' });
    expect(answers.agentCommand(' claude ')).toEqual({ ok: true, value: ['claude'] });
    expect(answers.agentCommand('claude --model opus')).toEqual({
      ok: true,
      value: ['claude', '--model', 'opus'],
    });
    expect(answers.agentCommand('"x').ok).toBe(false);
    expect(answers.tasks('commit, push "x', 'commit').ok).toBe(false);
  });

  it('S2.18 split lists at commas (T041)', () => {
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
  ])('S2.19 S2.116 read %j iterations as %j', (answer, expected) => {
    const understood = answers.iterations(answer);
    expect(understood.ok ? understood.value : understood.problem).toBe(expected);
  });

  it('S2.20 accept any completion response of at most 1000 characters', () => {
    expect(answers.completionResponse('  ')).toEqual({ ok: true, value: 'DONE' });
    expect(answers.completionResponse(' all done ')).toEqual({ ok: true, value: 'all done' });
    expect(answers.completionResponse('x'.repeat(1001))).toMatchObject({ ok: false });
  });

  it.each(['append', 'Prepend', ' REPLACE '])('S2.21 accept the fail action %j', (answer) => {
    expect(answers.failAction(answer)).toEqual({ ok: true, value: answer.trim().toUpperCase() });
  });

  it('S2.21 S2.116 reject any other fail action', () => {
    const problem = '  Invalid action. Must be APPEND, PREPEND, or REPLACE';
    expect(answers.failAction('maybe')).toEqual({ ok: false, problem });
  });

  it('accept yes and no in any case, and take an empty answer for no', () => {
    expect(['y', 'Yes', 'n', 'NO', ''].map((answer) => answers.yesOrNo(answer))).toEqual(
      [true, true, false, false, false].map((value) => ({ ok: true, value })),
    );
    expect(answers.yesOrNo('maybe')).toMatchObject({ ok: false });
  });
});
