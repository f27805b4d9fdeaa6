import { describe, expect, it } from 'vitest';
import { codexCommand } from './events.ts';

describe('a command in a message to Codex', () => {
  it.each([
    ['/ralph "Fix $& it" --check "npm test"', 'ralph', '"Fix $& it" --check "npm test"'],
    ['$ralph fix it', 'ralph', 'fix it'],
    ['$ralph:ralph fix\nit', 'ralph', 'fix\nit'],
    [' /ralph', 'ralph', ''],
    ['/cancel-ralph', 'cancel-ralph', ''],
    ['$ralph:cancel-ralph ', 'cancel-ralph', ''],
    ['$ralph-status', 'ralph-status', ''],
    ['/ralph:ralph-status please', 'ralph-status', 'please'],
  ])('S5.43 is found in %j', (message, name, args) => {
    expect(codexCommand(message)).toEqual({ name, args });
  });

  it.each([
    '',
    'ralph fix it',
    'run /ralph fix it',
    '/ralphs',
    '$ralph.',
    '/ralph-loop x',
    '$ralph:x',
    '//ralph',
  ])('is not found in %j, so no loop starts', (message) => {
    expect(codexCommand(message)).toBeNull();
  });
});
