import { describe, expect, it } from 'vitest';
import { ownText } from './own-text.ts';
import { asksQuestion, looksReady } from './pane-run.ts';

const PROMPT = `# Task
Fix the parser, run the tests and commit.
When all of it works, print exactly
ALL DONE
and nothing after it.
`;
const echoed = PROMPT.trimEnd().split('\n');
const own = (screen: readonly string[], before: readonly string[] = [], prompt = PROMPT) =>
  ownText(screen.join('\n'), before.join('\n'), prompt)
    .split('\n')
    .filter((line) => line.trim() !== '');

describe('S4.86 the own text of an agent', () => {
  it.each([
    ['as it is', echoed],
    ['after a sign', echoed.map((line, index) => (index === 0 ? `> ${line}` : `  ${line}`))],
    ['in a box', echoed.map((line) => `│ > ${line.padEnd(60)} │`)],
    ['in short lines', PROMPT.replaceAll('\n', ' ').match(/.{1,30}(?: |$)/g) ?? []],
    ['twice', [...echoed, '', ...echoed]],
    ['without its beginning, which has scrolled away', echoed.slice(2)],
  ])('has no echo of the prompt %s', (_, shown) => {
    expect(own(shown)).toEqual([]);
    expect(own([...shown, 'working', 'ALL DONE', '> '])).toEqual(['working', 'ALL DONE', '> ']);
  });

  it('has a line that the prompt tells it to print', () => {
    expect(own(['> [Pasted text #1 +5 lines]', 'ALL DONE'])).toContain('ALL DONE');
    expect(own(['Print DONE', 'DONE'], [], 'Print DONE')).toEqual(['DONE']);
  });

  it('has nothing that was there before the prompt, wherever it is now', () => {
    const before = ['Agent v1', 'print ALL DONE to stop', '> '];
    expect(own(['print ALL DONE to stop', 'hello', 'Agent v1'], before)).toEqual(['hello']);
    // Once more is new.
    expect(own([...before, 'print ALL DONE to stop'], before)).toEqual(['print ALL DONE to stop']);
  });

  it('is everything after an empty prompt', () => {
    expect(own(['one', 'two'], [], '')).toEqual(['one', 'two']);
  });
});

describe('S4.84 an agent is ready', () => {
  it.each([
    '  ⏵⏵ bypass permissions on (shift+tab to cycle)',
    'permission mode: plan',
    ' ✻ Claude Code v2.1.325',
    '>',
    '│ ❯ │',
    'opencode v1.18.33',
    'tab switch agent  ctrl+p commands',
    '$',
    '>>> ',
    '  GPT-6-Sol medium · /srv/project',
    '  gpt-5.5 high · ~/src',
  ])('with the line %j', (line) => {
    expect(looksReady(`loading\n${line}\nmore`)).toBe(true);
  });

  it.each(['', 'loading …', 'a > b', 'costs $ 5', '>go'])('but not with %j', (line) => {
    expect(looksReady(line)).toBe(false);
  });

  it.each([
    ' ❯ No, exit\n   Yes, I trust this folder\n\n Enter to confirm · Esc to cancel\n\n',
    '› 1. Trust and continue\n  2. Back to Agent Command Center\n\n  enter continue · esc back',
    '› 1. Try new model\n  2. Use existing model\n\n  enter/esc confirm · ^c quit',
  ])('but not while it asks a question: %j', (screen) => {
    expect(asksQuestion(screen)).toBe(true);
    expect(asksQuestion(`${screen}\n1\n2\n3\n4\n5`)).toBe(false);
  });

  it.each(['› Ask Codex to do anything\n\n  ? for shortcuts', '❯ Press Enter to send'])(
    'and %j is no question',
    (screen) => {
      expect(asksQuestion(screen)).toBe(false);
    },
  );
});
