import { expect, it } from 'vitest';
import { contentIn, type SettingsContent } from '../config/consent.ts';
import type { Settings } from '../config/config.ts';
import { fullText, settingsText } from './trust-text.ts';

const FILE = '.ralph/settings.json';

function contentFor(settings: Settings): SettingsContent {
  const [content = { file: FILE, content: {} }] = contentIn(FILE, settings);
  return content;
}

const consentTo = (settings: Settings) => ({ ...contentFor(settings), hash: '', at: '' });

it('shows new settings: what runs, what is moved, what is set', () => {
  const settings = { maxCost: 1, doneFile: 'D', checks: [{ command: 'make', hint: 'a\nb' }] };
  expect(settingsText([contentFor(settings)], '/w\u001B', [])).toBe(
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
  const text = settingsText([contentFor({ setup: ['a', 'c'], maxCost: 1 })], '/w', consents);
  expect(text).toContain('have changed since you trusted them');
  expect(text).toContain('.ralph/settings.json changes what it runs:\n  - setup  b\n  + setup  c\n\n');
  expect(text).not.toContain('maxCost');
});

it('shows everything if only the order has changed', () => {
  const text = settingsText([contentFor({ setup: ['b', 'a'] })], '/w', [consentTo({ setup: ['a', 'b'] })]);
  expect(text).toContain('runs:\n    setup  b\n    setup  a\n');
});

it('cuts long values and lists, shows both ends of a value, and says so', () => {
  const command = `first${'x'.repeat(10_000)}last`;
  const setup = Array.from({ length: 50 }, (_, index) => `step ${index}`);
  const text = settingsText([contentFor({ checks: [{ command }], setup })], '/w', []);
  expect(text).toMatch(/first.* \[…\] 9559 characters not shown \[…\] x*last\n/);
  expect(text).toContain('… and 11 more');
  expect(text).toContain('ralph trust --show');
  expect(text.length).toBeLessThan(2000);
});

it('shows everything in full where it is asked to, however much it is', () => {
  const long = 'x'.repeat(10_000);
  const text = fullText(
    contentFor({ completionTag: long, setup: Array.from({ length: 150_000 }, () => '1') }),
  );
  expect(text).toContain(`completionTag  ${long}\n`);
  expect(text.split('\n').filter((line) => line === '    setup  1')).toHaveLength(150_000);
});
