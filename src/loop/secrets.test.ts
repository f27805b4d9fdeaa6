import { describe, expect, it } from 'vitest';
import { hideKeys, hideLikelyKeys, redact, REDACTED } from './secrets.ts';

const KEY = `sk-${'a1b2'.repeat(6)}`;

describe('masking secrets', () => {
  it.each([
    [`const key = "${KEY}";`, `const key = "${REDACTED}";`],
    ['+API_KEY=abc123def456', `+API_KEY=${REDACTED}`],
    ['"password": "hunter2hunter2",', `"password": "${REDACTED}",`],
    ['client-secret: 0f9e8d7c6b5a', `client-secret: ${REDACTED}`],
    ['Authorization: Bearer abcdefgh12345678', `Authorization: ${REDACTED}`],
    ['git clone https://bob:hunter2@example.com/x', `git clone https://bob:${REDACTED}@example.com/x`],
    ['postgres://app:p/ssw0rd@db:5432/x', `postgres://app:${REDACTED}@db:5432/x`],
    ['postgres://app:p@ssword@db:5432/x', `postgres://app:${REDACTED}@db:5432/x`],
    ['https://0f9e8d7c6b5a4f3e@sentry.io/1', `https://${REDACTED}@sentry.io/1`],
    ['curl -u bob:hunter2 http://x', `curl -u bob:${REDACTED} http://x`],
    ['curl --user bob@x.org:hunter2;', `curl --user bob@x.org:${REDACTED};`],
    ['curl --proxy-user=bob:hunter2', `curl --proxy-user=bob:${REDACTED}`],
    [`curl -U "bob:hunter 2" x`, `curl -U "bob:${REDACTED}" x`],
    [`curl -u 'bob:hun"ter' x`, `curl -u 'bob:${REDACTED}' x`],
  ])('masks a key in code and prose: %s', (text, hidden) => {
    expect(hideLikelyKeys(text)).toBe(hidden);
  });

  it.each([
    "SyntaxError: Unexpected token 'export'",
    'function login(password: string, token: AccessToken)',
    'const token = generate_v2(input);',
    'apiKey: process.env.API_KEY_2,',
    'const secret = secrets[index2];',
    'max_tokens: 4096, token_count = 12345678',
    'the next token is identifier12',
    'git clone ssh://git@example.com/x',
    'http://localhost:3000/@scope/package token',
    'docker run -u 1000:1000 x',
    'curl -u bob:$PASSWORD x',
    'curl -u "bob:$PASSWORD" x',
    'date -u +%H:%M:%S',
    'rsync -u host:/path .',
    'git push -u origin main:main',
  ])('keeps code and prose without a key: %s', (text) => {
    expect(hideLikelyKeys(text)).toBe(text);
  });

  it('masks the passwords in the arguments of a command', () => {
    const argv = [
      'curl',
      '-u',
      'bob:hunter 2',
      '--user=a:b',
      'https://bob:hunter2@x/y',
      '-u',
      '1:2',
      '--',
      '-u',
    ];
    expect(redact(argv, {})).toEqual([
      'curl',
      '-u',
      `bob:${REDACTED}`,
      `--user=a:${REDACTED}`,
      `https://bob:${REDACTED}@x/y`,
      '-u',
      '1:2',
      '--',
      '-u',
    ]);
  });

  it('masks the word after a secret flag only in a command line', () => {
    expect(hideKeys('--token abcdefgh')).toBe(`--token ${REDACTED}`);
    expect(hideLikelyKeys('a token abcdefgh')).toBe('a token abcdefgh');
  });
});
