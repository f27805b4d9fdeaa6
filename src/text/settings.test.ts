import { expect, it } from 'vitest';
import type { Setting } from '../settings/effective.ts';
import { settingsTable } from './settings.ts';

function setting(key: string, value: unknown, place: string | null = null): Setting {
  return { key, value, origin: place === null ? 'default' : 'preset', place };
}

it('writes sizes as people do, and leaves times and numbers as they are', () => {
  const settings = [setting('maxOutput', 2 ** 30), setting('maxTokens', 1_000_000), setting('maxTime', '2h')];
  expect(settingsTable(settings).slice(1)).toEqual([
    ['maxOutput', '1 GB', 'default'],
    ['maxTokens', '1000000', 'default'],
    ['maxTime', '2h', 'default'],
  ]);
});

it('has one row for the completion keys that are off for the same reason', () => {
  const settings = [
    setting('completionResponse', null, 'preset x'),
    setting('completionTag', null),
    setting('scm.command', null),
    setting('donePattern', null),
    setting('doneFile', 'DONE'),
  ];
  expect(settingsTable(settings).slice(1)).toEqual([
    ['completionResponse', '-', 'preset x'],
    ['completion', 'off: completionTag, donePattern', 'default'],
    ['scm.command', '-', 'default'],
    ['doneFile', 'DONE', 'default'],
  ]);
});
