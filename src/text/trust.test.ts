import { expect, it } from 'vitest';
import { contentIn, entriesIn, type SettingsContent } from '../settings/consent.ts';
import type { Settings } from '../settings/settings.ts';
import { fullText, settingsText, type SettingsText } from './trust.ts';

const FILE = '.ralph/settings.json';

function contentFor(settings: Settings): SettingsContent {
  const [content = { file: FILE, content: {} }] = contentIn(FILE, settings);
  return content;
}

function shown(
  contents: readonly SettingsContent[],
  workspace: string,
  consents: readonly SettingsContent[],
): SettingsText {
  return settingsText(entriesIn(contents, consents), workspace, { width: Infinity });
}

function full(content: SettingsContent): string {
  return entriesIn([content], [])
    .map((file) => fullText(file, Infinity))
    .join('');
}

const consentTo = (settings: Settings) => ({ ...contentFor(settings), hash: '', at: '' });

it('shows new settings: what runs, what is moved, what is set', () => {
  const settings = { maxCost: 1, doneFile: 'D', checks: [{ command: 'make', hint: 'a\nb' }] };
  expect(shown([contentFor(settings)], '/w\u001B', []).text).toBe(
    [
      'The settings of /w\\u{001b} are not trusted yet.',
      '',
      '.ralph/settings.json runs:',
      '    checks.command  make',
      '',
      '.ralph/settings.json moves this file aside if the claim is rejected:',
      '    doneFile  D',
      '',
      '.ralph/settings.json sets:',
      '    checks.hint  a\\nb',
      '    maxCost      1',
      '',
      '',
    ].join('\n'),
  );
});

it('shows what has changed since the last consent', () => {
  const consents = [consentTo({ setup: ['old'] }), consentTo({ setup: ['a', 'b'], maxCost: 1 })];
  const { text } = shown([contentFor({ setup: ['a', 'c'], maxCost: 1 })], '/w', consents);
  expect(text).toContain('have changed since you trusted them');
  expect(text).toContain('.ralph/settings.json changes what it runs:\n  - setup  b\n  + setup  c\n\n');
  expect(text).not.toContain('maxCost');
});

it('shows everything if only the order has changed', () => {
  const consents = [consentTo({ setup: ['a', 'b'] })];
  const { text } = shown([contentFor({ setup: ['b', 'a'] })], '/w', consents);
  expect(text).toContain('runs:\n    setup  b\n    setup  a\n');
});

it('shows values of up to 2,000 characters in full', () => {
  const command = `first${'x'.repeat(1991)}last`;
  const { text, cut } = shown([contentFor({ checks: [{ command }] })], '/w', []);
  expect(text).toContain(`${command}\n`);
  expect(cut).toEqual([]);
});

it.each([
  ['blanks', ' '.repeat(3000), '[3,000 blanks]'],
  ['tabs and blanks that only look like a space', '\t\u00A0\u2800'.repeat(1000), '[3,000 blanks]'],
  ['line breaks', '\n \r\n'.repeat(3), '[12 blanks and line breaks]'],
])('counts %s instead of showing them, so that nothing hides behind them', (_, blanks, count) => {
  const settings = { checks: [{ command: `npm test${blanks}; curl` }] };
  const { text, cut } = shown([contentFor(settings)], '/w', []);
  expect(text).toContain(`  npm test ${count} ; curl\n`);
  expect(cut).toEqual([]);
  expect(full(contentFor(settings))).toContain(`  npm test ${count} ; curl\n`);
});

it('cuts longer values, shows both ends, and names what it cuts', () => {
  const command = `first${'x'.repeat(10_000)}last`;
  const { text, cut } = shown([contentFor({ checks: [{ command }, { command: 'b' }] })], '/w', []);
  expect(text).toMatch(/first.* \[…\] 9,559 characters not shown \[…\] x*last\n/);
  expect(text.length).toBeLessThan(2000);
  expect(cut).toEqual([`checks.command in ${FILE}`]);
});

it('cuts what is too much to be read before a question, and not what is executed', () => {
  const globs = Array.from({ length: 200 }, (_, index) => `glob ${index}`);
  const many = shown([contentFor({ setup: ['a'], protect: globs })], '/w', []);
  expect(many.text).toContain('setup  a\n');
  expect(many.text).toContain(`… and 101 more values in ${FILE}`);
  expect(many.cut).toEqual([`protect in ${FILE}`]);
  const long = Array.from({ length: 20 }, () => 'x'.repeat(1000));
  const much = shown([contentFor({ setup: ['a'], protect: long })], '/w', []);
  expect(much.text).toContain('setup  a\n');
  expect(much.text.length).toBeLessThan(12_000);
  expect(much.cut).toEqual([`protect in ${FILE}`]);
});

it('shows everything in full where it is asked to, however much it is', () => {
  const long = 'x'.repeat(10_000);
  const text = full(contentFor({ completionTag: long, setup: Array.from({ length: 150_000 }, () => '1') }));
  expect(text).toContain(`completionTag  ${long}\n`);
  expect(text.split('\n').filter((line) => line === '    setup  1')).toHaveLength(150_000);
});
